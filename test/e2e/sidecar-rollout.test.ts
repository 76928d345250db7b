import { expect } from 'chai';
import { ANNOTATIONS, API_KEY_SECRET_FIELD, apiKeySecretName, CONTAINERS } from '../../api/names.ts';
import { isSettled } from '../../launch/cluster-models.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { installRelease, RELEASE_NAMESPACE } from '../../launch/release.ts';
import {
  apply,
  cluster,
  findEndpoint,
  isPodReady,
  kubectl,
  listPods,
  type Pod,
  readObject,
  waitUntil,
} from './installation.ts';
import { startTraffic } from './traffic.ts';

const NAMESPACE = 'sidecars';
const NAMES = ['first', 'second'];
const CPU = '20m';
const STOP_FILE = 'berth-sidecar-rollout';

interface Deployment {
  metadata: { annotations: Record<string, string> };
  status: { conditions: { type: string; reason: string; lastUpdateTime: string }[] };
}

const readDeployment = (name: string) => readObject<Deployment>('Deployment', name, NAMESPACE);
const readModel = (name: string) =>
  readObject<Parameters<typeof isSettled>[0]>('ModelDeployment', name, NAMESPACE);
const listModelPods = (name: string) => listPods(`berth.dev/deployment=${name}`, NAMESPACE);
const requestsOf = ({ spec }: Pod) =>
  spec.initContainers!.find(({ name }) => name === CONTAINERS.gateway)!.resources!.requests!;
const rolledAt = ({ metadata }: Deployment) => Date.parse(metadata.annotations[ANNOTATIONS.sidecarRolledAt]!);
const findProgress = ({ status }: Deployment) =>
  status.conditions.find(({ type }) => type === 'Progressing')!;

/** Upgrades the release so that its sidecars ask for other resources: those alone differ in a pod. */
const upgrade = (requests: object, stop: object = {}) =>
  installRelease(cluster, {
    gateway: { resources: { requests } },
    sidecarRollout: {
      enabled: true,
      namespaces: [NAMESPACE],
      maxConcurrent: 1,
      stop: { observe: '0s', ...stop },
    },
  });

describe('an upgrade of the chart with sidecarRollout', function () {
  this.timeout(600_000);
  let endpoint: EndpointEntry;

  before(async () => {
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      {
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'APIKey',
        metadata: { name: 'own', namespace: NAMESPACE },
        spec: { rpm: 10_000, tpd: 100_000_000 },
      },
      ...NAMES.map((name) => ({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name, namespace: NAMESPACE },
        spec: {
          kind: 'LLM',
          model: { id: `e2e/${name}` },
          engine: { preset: 'simulator' },
          rollout: { maxSurge: 1 },
        },
      })),
    );
    await waitUntil('both to be ready', 180, async () =>
      (await Promise.all(NAMES.map(readModel))).every(isSettled),
    );
    const { data } = await readObject<{ data: Record<string, string> }>(
      'Secret',
      apiKeySecretName('own'),
      NAMESPACE,
    );
    const example = findEndpoint('tiny-chat');
    endpoint = {
      ...example,
      namespace: NAMESPACE,
      name: NAMES[0]!,
      modelId: `e2e/${NAMES[0]}`,
      apiKey: Buffer.from(data[API_KEY_SECRET_FIELD]!, 'base64').toString(),
      baseURL: example.baseURL.replace('tiny-chat--default', `${NAMES[0]}--${NAMESPACE}`),
    };
  });
  after(async () => {
    await kubectl('delete', 'modeldeployments', '--all', '-n', NAMESPACE, '--timeout=120s');
    await kubectl('delete', 'namespace', NAMESPACE, '--wait=false');
  });

  /** Chats go on meanwhile, and none fails. */
  async function whileServing(disturb: () => Promise<void>): Promise<void> {
    const traffic = startTraffic(endpoint);
    let seen: Awaited<ReturnType<typeof traffic.stop>>;
    try {
      await traffic.more(5);
      await disturb();
      await traffic.more(5);
    } finally {
      seen = await traffic.stop();
    }
    expect(seen.failures).to.deep.equal([]);
  }

  it('gives one deployment after the other the new sidecar, and no request fails', () =>
    whileServing(async () => {
      await upgrade({ cpu: CPU, memory: '97Mi' });
      await waitUntil('new pods of both', 180, async () => {
        const pods = (await Promise.all(NAMES.map(listModelPods))).flat();
        return (
          pods.length === NAMES.length &&
          pods.every((pod) => isPodReady(pod) && requestsOf(pod).memory === '97Mi')
        );
      });
      const [first, second] = await Promise.all(NAMES.map(readDeployment));
      expect(findProgress(first!).reason).to.equal('NewReplicaSetAvailable');
      expect(rolledAt(second!)).to.be.at.least(Date.parse(findProgress(first!).lastUpdateTime));
    }));

  it('stops by itself after the first whose sidecar cannot start, whose old pod goes on', () =>
    whileServing(async () => {
      const before = await Promise.all(NAMES.map(listModelPods));
      const untouched = await readDeployment('second');
      // No node has as much.
      await upgrade({ cpu: '500', memory: '97Mi' }, { readyTimeout: '5s' });
      const readStop = () =>
        readObject<{ data?: Record<string, string> }>('ConfigMap', STOP_FILE, RELEASE_NAMESPACE);
      await waitUntil('the rollout to stop', 120, async () => (await readStop()).data?.state === 'Stopped');
      expect((await readStop()).data!.reason).to.equal(
        `1 of 1 updated deployments failed: ${NAMESPACE}/first: its new pods did not become ready`,
      );
      const [first, second] = await Promise.all(NAMES.map(listModelPods));
      const uidsOf = (pods: Pod[]) => pods.map(({ metadata }) => metadata.uid);
      expect(uidsOf(first!)).to.include.members(uidsOf(before[0]!)).and.have.length(2);
      expect(uidsOf(second!)).to.deep.equal(uidsOf(before[1]!));
      const { annotations } = (await readDeployment('second')).metadata;
      expect(annotations[ANNOTATIONS.sidecarRolledAt]).to.equal(
        untouched.metadata.annotations[ANNOTATIONS.sidecarRolledAt],
      );
    }));
});
