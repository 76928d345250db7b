import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { type ExternalMetrics, serveExternalMetrics } from '../support/external-metrics.ts';
import {
  apply,
  deploySimulator,
  isPodReady,
  kubectl,
  listModelPods,
  readModel,
  readObject,
  removeModel,
  waitUntil,
} from './installation.ts';
import { keepStreaming } from './streams.ts';

const EXAMPLE = 'examples/autoscalers/hpa.yaml';
/** Its target is 8 for each replica. */
const STREAMS = 20;
const TOKENS = 100;
const KEPT_SECONDS = 15;

/** The example, but for how long replicas are kept. */
function readAutoscaler(): object {
  const autoscaler = parse(readFileSync(EXAMPLE, 'utf8'));
  autoscaler.spec.behavior.scaleDown.stabilizationWindowSeconds = KEPT_SECONDS;
  return autoscaler;
}

const readSeconds = (since: number): number => Math.round((performance.now() - since) / 1_000);

interface HPA {
  status: { currentMetrics?: { external?: { current: { averageValue?: string } } }[] };
}

describe('an HPA that scales a model by its demand', function () {
  this.timeout(900_000);
  const name = 'chat';
  let endpoint: EndpointEntry;
  let metrics: ExternalMetrics;
  const countReady = async () => (await listModelPods(name)).filter(isPodReady).length;

  before(async () => {
    const env = { SIMULATOR_TOKENS: String(TOKENS), SIMULATOR_ITL_MS: '100' };
    endpoint = await deploySimulator(name, { env, replicas: 1 });
    await waitUntil('the first replica', 180, async () => (await countReady()) === 1);
    metrics = await serveExternalMetrics('http://berth-front.berth.svc.cluster.local', endpoint.apiKey);
    await apply(...metrics.objects);
    await apply(readAutoscaler());
  });
  after(async () => {
    await kubectl('delete', '-f', EXAMPLE, '--ignore-not-found');
    await kubectl('delete', 'apiservice', 'v1beta1.external.metrics.k8s.io', '--ignore-not-found');
    await kubectl('delete', 'service', 'external-metrics', '--ignore-not-found');
    metrics?.close();
    await removeModel(name);
  });

  it('adds replicas under load and removes them after it, and cuts no stream', async () => {
    const streams = keepStreaming(endpoint, STREAMS, { tokens: TOKENS });
    const startedAt = performance.now();
    await waitUntil('three replicas', 300, async () => (await countReady()) === 3);
    const upSeconds = readSeconds(startedAt);
    console.log(
      `        ${STREAMS} streams: a demand of ${metrics.values.get(name)}, 3 replicas after ${upSeconds} s`,
    );
    const [metric] = (await readObject<HPA>('HorizontalPodAutoscaler', name)).status.currentMetrics ?? [];
    expect(metric?.external?.current.averageValue).to.be.a('string');
    streams.limit(2);
    const ebbedAt = performance.now();
    await waitUntil('one replica', 480, async () => {
      const pods = await listModelPods(name);
      return pods.length === 1 && (await readModel(name)).spec.replicas === 1;
    });
    const downSeconds = readSeconds(ebbedAt);
    const { ended, failures } = await streams.stop();
    console.log(`        1 replica ${downSeconds} s after 2 streams were left; ${ended} streams ended`);
    expect(failures).to.deep.equal([]);
    expect(ended).to.be.greaterThan(STREAMS);
  });
});
