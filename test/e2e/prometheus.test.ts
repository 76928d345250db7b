/** The queries of dashboards and alerts against a real Prometheus that scrapes the cluster. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { isSettled } from '../../launch/cluster-models.ts';
import { ALERTS, askUntilAnswered, listQueries, writeTable } from '../support/dashboard-queries.ts';
import { DEPLOYMENTS, describeObjects, makeTraffic } from '../support/dashboard-traffic.ts';
import { usePrometheus } from '../support/prometheus.ts';
import type { RunningPrometheus } from '../support/running-prometheus.ts';
import { cluster, endpoints, readObject, waitUntil } from './installation.ts';
import { steer } from './media.ts';
import { type Receiver, startReceiver } from './receivers.ts';
import {
  CONTROL,
  describeEndpoint,
  makeNamespace,
  removeNamespace,
  watchCluster,
} from './watched-namespace.ts';

const NAMESPACE = 'watched';
const TIMEOUT_MS = 150_000;

describe('dashboards and alerts over a Prometheus that scrapes the cluster', function () {
  this.timeout(TIMEOUT_MS + 120_000);
  usePrometheus('prometheus');
  const traceId = randomBytes(16).toString('hex');
  let apiKey: string;
  let prometheus: RunningPrometheus;
  let receiver: Receiver;

  before(async function () {
    this.timeout(240_000);
    apiKey = await makeNamespace(NAMESPACE, describeObjects(NAMESPACE, CONTROL));
    receiver = await startReceiver(cluster.nodeIP, {});
    prometheus = await watchCluster(join(process.cwd(), ALERTS));
    type Model = Parameters<typeof isSettled>[0];
    for (const name of ['chat', 'picture'])
      await waitUntil(`${name} to be ready`, 180, async () =>
        isSettled(await readObject<Model>('ModelDeployment', name, NAMESPACE)),
      );
  });
  after(async () => {
    await prometheus?.stop();
    receiver?.stop();
    await removeNamespace(NAMESPACE);
  });

  const find = (name: string) => describeEndpoint(name, NAMESPACE, apiKey);
  const work = () =>
    makeTraffic({
      find,
      failNext: (name, fault) => steer(find(name), { fault, faultTimes: 1 }),
      webhookURL: receiver.urlOf('/watched'),
      consoleURL: endpoints.console!.url,
      traceparent: `00-${traceId}-${'b'.repeat(16)}-01`,
    });

  it('return data for every query', async () => {
    const asked = listQueries();
    const question = { namespace: NAMESPACE, deployments: DEPLOYMENTS, work, timeoutMs: TIMEOUT_MS };
    const empty = await askUntilAnswered(prometheus, asked, question);
    writeTable(asked);
    expect(empty).to.deep.equal([]);
  });

  it('have exemplars that lead from a histogram to the trace of a request', () =>
    waitUntil('an exemplar of the trace', 30, async () =>
      (await prometheus.listExemplars('gen_ai_server_request_duration_seconds_bucket')).includes(traceId),
    ));

  it('have every target of the release and of the namespace up', async () => {
    type Targets = { activeTargets: { labels: Record<string, string>; health: string; lastError: string }[] };
    const { activeTargets } = await prometheus.read<Targets>('targets?state=active');
    const own = activeTargets.filter(({ labels }) => ['berth', NAMESPACE].includes(labels.namespace ?? ''));
    expect(new Set(own.map(({ labels }) => labels.job))).to.include.all.keys(
      'operator',
      'front',
      'console',
      'models',
      'engines',
    );
    const chats = own.filter(({ labels }) => labels.pod?.startsWith('chat-'));
    expect(
      chats.map(({ labels, health, lastError }) => `${labels.job} ${health} ${lastError}`).sort(),
    ).to.deep.equal(['engines up ', 'engines up ', 'models up ', 'models up ']);
  });
});
