import { expect } from 'chai';
import { type AdapterFacts, deriveAdapterStatus, isAdmitted } from '../../../../operator/status/adapter.ts';
import { findCondition } from '../../../../operator/status/condition-list.ts';
import { makeModel } from '../resources/fixtures.ts';

const replica = (fields: Partial<NonNullable<AdapterFacts['replicas']>[number]> = {}) => ({
  ...{ pod: 'qwen-1', boot: '1', ready: true, draining: false, limit: null, busyMs: 0, arrivals: 0 },
  ...{ inflight: 0, abandoned: 0, at: 1, asleep: false, activeAt: 1, adapter: 'sql-new' },
  ...fields,
});

const ADAPTER = makeModel({
  model: { id: 'sql', source: { huggingFace: { repo: 'acme/lora' }, cache: { claimName: 'models' } } },
  engine: undefined,
  adapterOf: { deployment: 'qwen' },
});
const SERVED = {
  ...ADAPTER,
  status: {
    conditions: [{ type: 'AdapterReady', status: 'True' as const, reason: 'Loaded', lastTransitionTime: '' }],
  },
} as typeof ADAPTER;

function derive(facts: Partial<AdapterFacts> = {}, adapter = ADAPTER) {
  const status = deriveAdapterStatus(adapter, {
    problems: [],
    desiredPods: 1,
    readyPods: 1,
    replicas: [replica()],
    engineName: 'sql-new',
    download: undefined,
    isPaused: false,
    url: 'https://sql.example/v1',
    unpublished: undefined,
    acceptance: undefined,
    registrationId: 1,
    now: 0,
    ...facts,
  });
  const of = (type: string) => {
    const { status: is, reason, message } = findCondition(status.conditions, type)!;
    return { is, reason, message };
  };
  return { status, loaded: of('AdapterReady'), ready: of('Ready'), available: of('Available') };
}

describe('the status of an adapter', () => {
  it('is loaded once a replica has the current source, not with an earlier one, which still serves', () => {
    expect(derive().loaded).to.deep.include({ is: 'True', reason: 'Loaded' });
    const { loaded, ready, available, status } = derive({ replicas: [replica({ adapter: 'sql-old' })] });
    expect(loaded).to.include({ is: 'False', reason: 'Loading' });
    expect(loaded.message).to.include('meanwhile its earlier source is served');
    expect(ready).to.include({ is: 'False', reason: 'Loading' });
    expect(available.is).to.equal('True');
    expect(status.readyReplicas).to.equal(1);
  });

  it('has not failed as a whole while an earlier source is served', () => {
    const adapterError = 'no such file';
    const before = derive({ replicas: [replica({ adapter: 'sql-old', adapterError })] });
    expect(before.loaded.reason).to.equal('LoadFailed');
    expect(before.status.phase).to.equal('Starting');
    const { status } = derive({ replicas: [replica({ ready: false, adapter: undefined, adapterError })] });
    expect(status.phase).to.equal('Failed');
  });

  it('tells a download from loading, and its failure from the words of the engine', () => {
    const replicas = [replica({ ready: false, adapter: undefined, adapterError: 'no such file' })];
    expect(derive({ replicas, download: { job: 'sql-prefetch' } }).loaded).to.deep.include({
      reason: 'Downloading',
      message: 'Job sql-prefetch is downloading it',
    });
    const { loaded, status } = derive({ replicas, download: { job: 'sql-prefetch', failure: '401' } });
    expect(loaded.message).to.equal('Job sql-prefetch failed, and tries again: 401');
    expect([loaded.reason, status.phase]).to.deep.equal(['DownloadFailed', 'Failed']);
    expect(derive({ replicas }).loaded).to.deep.include({ reason: 'LoadFailed', message: 'no such file' });
  });

  it('is no longer admitted once its base cannot serve it, and stays so for what only concerns an edit', () => {
    const problem = (reason: string) => ({ problems: [{ reason, message: 'why' }] });
    for (const reason of ['BaseNotSupported', 'PortTaken', 'ClaimNotFound', 'ClaimNotShared'])
      expect(isAdmitted(derive(problem(reason), SERVED)), reason).to.equal(false);
    for (const reason of ['NoPods', 'SecretNotFound'])
      expect(isAdmitted(derive(problem(reason), SERVED)), reason).to.equal(true);
    expect(isAdmitted(derive(problem('SecretNotFound')))).to.equal(false);
  });
});
