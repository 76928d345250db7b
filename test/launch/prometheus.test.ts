/** The queries of dashboards and alerts against a real Prometheus that scrapes real programs, those of `make run`. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/connection.ts';
import { ALERTS, askUntilAnswered, listQueries, writeTable } from '../support/dashboard-queries.ts';
import { DEPLOYMENTS, describeObjects, makeTraffic } from '../support/dashboard-traffic.ts';
import { startLocalPrometheus } from '../support/local-prometheus.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import { usePrometheus } from '../support/prometheus.ts';

const NAMESPACE = 'default';
const TIMEOUT_MS = 240_000;

describe('dashboards and alerts over a real Prometheus', function () {
  this.timeout(TIMEOUT_MS + 120_000);
  const findPrometheus = usePrometheus('prometheus');
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  const traceId = randomBytes(16).toString('hex');
  let stack: LocalStack;
  let prometheus: Awaited<ReturnType<typeof startLocalPrometheus>>;
  let hook: Server;
  let client: KubeClient;

  before(async () => {
    const objects = describeObjects(NAMESPACE);
    writeFileSync(join(models, 'objects.yaml'), objects.map((each) => JSON.stringify(each)).join('\n---\n'));
    stack = await startLocalStack({ MODELS: models });
    hook = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(hook, 'listening');
    client = createKubeClient({ config: loadKubeConfig({ file: join(stack.folder, 'kubeconfig') }) });
    const ruleFile = join(process.cwd(), ALERTS);
    prometheus = await startLocalPrometheus({ program: findPrometheus(), stack, client, ruleFile });
  });
  after(async () => {
    await prometheus?.stop();
    await client?.close();
    await stack?.stop();
    hook?.close();
    rmSync(models, { recursive: true, force: true });
  });

  const find = (name: string) => stack.endpoints.deployments.find((each) => each.name === name)!;
  const work = async () => {
    await makeTraffic({
      find,
      failNext: async (name, fault) => {
        const body = JSON.stringify({ fault, faultTimes: 1 });
        await fetch(`${find(name).simulatorURL}/control`, { method: 'PUT', body });
      },
      webhookURL: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
      consoleURL: stack.endpoints.console!.url,
      traceparent: `00-${traceId}-${'b'.repeat(16)}-01`,
    });
    // Pods come and go.
    await prometheus.tellTargets();
  };

  it('return data for every query', async () => {
    const asked = listQueries();
    const question = { namespace: NAMESPACE, deployments: DEPLOYMENTS, work, timeoutMs: TIMEOUT_MS };
    const empty = await askUntilAnswered(prometheus, asked, question);
    writeTable(asked);
    expect(empty).to.deep.equal([]);
  });

  it('have exemplars that lead from a histogram to a trace', () =>
    pollUntil(
      async () =>
        (await prometheus.listExemplars('gen_ai_server_request_duration_seconds_bucket')).includes(traceId),
      'an exemplar of the trace',
    ));

  it('have every target up, and every rule evaluated', async () => {
    type Targets = { activeTargets: { labels: Record<string, string>; health: string; lastError: string }[] };
    const { activeTargets } = await prometheus.read<Targets>('targets?state=active');
    const jobs = activeTargets.map(({ labels }) => labels.job);
    expect(jobs).to.include.members(['operator', 'front', 'console', 'models', 'engines']);
    const chats = activeTargets.filter(({ labels }) => labels.pod?.startsWith('chat-'));
    expect(
      chats.map(({ labels, health, lastError }) => `${labels.job} ${health} ${lastError}`).sort(),
    ).to.deep.equal(['engines up ', 'engines up ', 'models up ', 'models up ']);
    type Rules = { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    await pollUntil(async () => {
      const { groups } = await prometheus.read<Rules>('rules');
      return groups.every(({ rules }) => rules.every(({ health }) => health === 'ok'));
    }, 'every rule to be evaluated');
  });
});
