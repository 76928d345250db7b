import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type {
  DeploymentView,
  KeyView,
  ProblemView,
  StorageCredentialView,
  WebhookView,
} from '../../../console/api.ts';
import {
  findCreditProblems,
  findDeploymentProblems,
  findKeyProblems,
  findQueueProblem,
  findStorageProblems,
  findWebhookProblems,
  OLD_QUEUE_MS,
  sortProblems,
} from '../../../console/server/views/problem.ts';
import {
  describeSubject,
  findLogPath,
  findProblemPath,
  findRunbook,
} from '../../../console/web/problems/problem-link.ts';

const words = (problems: ProblemView[]) => problems.map(({ severity, title }) => `${severity}: ${title}`);

describe('a problem of a deployment', () => {
  const shown = { name: 'chat', state: 'ready', message: 'm', conditions: [], scaling: null };
  const find = (change: object) =>
    words(findDeploymentProblems({ ...shown, ...change } as unknown as DeploymentView));
  const gpus = { type: 'GPUsAvailable', status: 'False', reason: 'Short', message: 'one is missing' };
  for (const [change, expected] of [
    [{}, []],
    [{ state: 'starting' }, []],
    [{ state: 'paused', conditions: [gpus] }, []],
    [{ state: 'failing' }, ['error: Failing']],
    [{ state: 'unhealthy' }, ['error: Unhealthy']],
    [{ state: 'degraded' }, ['warning: Degraded']],
    [{ state: 'degraded', conditions: [gpus] }, ['warning: Not enough GPUs']],
    [{ state: 'starting', conditions: [gpus] }, ['error: Not enough GPUs']],
    [{ scaling: { isShort: true, needed: 3 } }, ['warning: Not enough capacity to scale']],
  ] as const)
    it(`is ${expected.join() || 'none'} with ${JSON.stringify(change)}`, () => {
      expect(find(change)).to.deep.equal(expected);
    });
});

describe('a problem', () => {
  it('is a queue whose oldest request waits for half an hour', () => {
    const now = Date.now();
    expect(findQueueProblem('film', null, now)).to.deep.equal([]);
    expect(findQueueProblem('film', now - OLD_QUEUE_MS + 1, now)).to.deep.equal([]);
    expect(findQueueProblem('film', now - OLD_QUEUE_MS, now)[0]!.message).to.include('30 minutes');
  });

  it('is credit that is gone or nearly gone', () => {
    expect(words(findCreditProblems(null, 5))).to.deep.equal([]);
    expect(words(findCreditProblems(1_000_000, 899_999))).to.deep.equal([]);
    expect(words(findCreditProblems(1_000_000, 950_000))).to.deep.equal(['warning: Credit nearly used up']);
    expect(findCreditProblems(1_000_000, 950_000)[0]!.message).to.equal('0.05 of 1 remaining.');
    expect(words(findCreditProblems(1_000_000, 1_000_001))).to.deep.equal(['error: Credit used up']);
    expect(words(findCreditProblems(0, 0))).to.deep.equal(['error: Credit used up']);
  });

  it('is a key at its limit, an endpoint that is off by itself, and a bucket that failed', () => {
    const usage = { requestsThisMinute: 5, tokensToday: 0, lastUsedAt: null };
    const key = { name: 'k', rpm: 5, tpd: 9, disabled: false, usage } as KeyView;
    expect(words(findKeyProblems(key))).to.deep.equal(['warning: Limit reached']);
    expect(findKeyProblems({ ...key, disabled: true })).to.deep.equal([]);
    expect(findKeyProblems({ ...key, rpm: 6 })).to.deep.equal([]);
    const hook = (state: string) =>
      words(findWebhookProblems({ name: 'h', state, message: '' } as WebhookView, []));
    expect(hook('auto-disabled')).to.deep.equal(['error: Endpoint disabled']);
    expect(hook('refused')).to.deep.equal(['error: Endpoint refused']);
    expect([...hook('active'), ...hook('disabled')]).to.deep.equal([]);
    const verified = {
      type: 'Verified',
      status: 'False',
      reason: '',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    } as const;
    const bucket = (state: string) =>
      findStorageProblems({ name: 'b', state, message: '' } as StorageCredentialView, [verified]);
    expect(words(bucket('failed'))).to.deep.equal(['error: Bucket verification failed']);
    expect(bucket('failed')[0]!.since).to.equal('2026-01-01T00:00:00Z');
    expect(bucket('verified')).to.deep.equal([]);
  });

  const of = (
    kind: ProblemView['kind'],
    severity: ProblemView['severity'],
    more: Partial<ProblemView> = {},
  ) =>
    ({
      kind,
      name: 'a b',
      severity,
      title: '',
      message: '',
      since: null,
      runbook: null,
      ...more,
    }) satisfies ProblemView;

  it('leads to where it is dealt with; the worst comes first', () => {
    const sorted = sortProblems([
      of('key', 'warning'),
      of('webhook', 'error'),
      of('deployment', 'error', { name: 'young', since: '2026-01-02T00:00:00Z' }),
      of('deployment', 'error', { name: 'old', since: '2026-01-01T00:00:00Z' }),
      of('credit', 'error', { name: '' }),
    ]);
    expect(sorted.map(findProblemPath)).to.deep.equal([
      'usage',
      'deployments/old?tab=conditions',
      'deployments/young?tab=conditions',
      'webhooks?filter=a%20b',
      'keys?filter=a%20b',
    ]);
    expect(sorted.map(describeSubject)).to.deep.equal([
      'Workspace',
      'Deployment old',
      'Deployment young',
      'Endpoint a b',
      'Key a b',
    ]);
    expect(findProblemPath(of('queue', 'warning', { name: 'film' }))).to.equal(
      'requests?deployment=film&status=queued',
    );
  });

  it('leads to the log of what crashed, and to a runbook that is published', () => {
    const message = 'init container weights exited with code 2: access denied';
    expect(findLogPath(of('deployment', 'error', { message }))).to.equal(
      'deployments/a%20b?tab=logs&container=weights&run=crashed',
    );
    expect(findLogPath(of('deployment', 'error', { message: 'no node fits' }))).to.equal(undefined);
    const known = { runbook: 'not-ready' };
    expect(findRunbook(known, 'https://docs.example/')).to.equal('https://docs.example/runbooks/not-ready');
    expect(findRunbook(known, null)).to.equal(undefined);
    expect(findRunbook({ runbook: null }, 'https://docs.example')).to.equal(undefined);
  });

  it('names runbooks that there are', () => {
    const source = readFileSync('console/server/views/problem.ts', 'utf8');
    const named = [...source.matchAll(/runbook: '([^']+)'/g)].map(([, name]) => name!);
    expect(named).to.include('gpus-short');
    for (const name of named) expect(existsSync(`docs/runbooks/${name}.md`), name).to.equal(true);
  });
});
