import { connect as openSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { waitForServer } from '../../cluster/cluster.ts';
import { API_SERVICE_IP } from '../../cluster/layout.ts';
import { startComponent, stopComponent } from '../../cluster/node.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { killContainer } from './containers.ts';
import {
  cluster,
  connect,
  deploySimulator,
  isPodReady,
  type Kind,
  kubectl,
  listPods,
  proveReconciling,
  readObject,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { startTraffic } from './traffic.ts';

const OPERATOR = 'app.kubernetes.io/name=berth,app.kubernetes.io/component=operator';
/** Longer than the lease of the operator. The longer it lasts, the longer watches of others wait afterwards. */
const OUTAGE_MS = 20_000;
/**
 * What Kubernetes and the ingress controller may take after the outage: each watch of client-go waits up to a minute
 * before it connects again, and once more before it lists. The tests that follow need all of them.
 */
const OTHERS_SECONDS = 240;
/** Everything that the operator writes. */
const WRITTEN =
  'modeldeployments,workspaces,apikeys,deployments,services,ingresses,endpointslices,poddisruptionbudgets,networkpolicies,secrets';

interface Lease {
  spec: { holderIdentity?: string };
}

const readLeader = async (): Promise<string> => {
  const leases = JSON.parse(await kubectl('get', 'leases', '-n', 'berth', '-o', 'json')).items as Lease[];
  return leases[0]?.spec.holderIdentity ?? '';
};

/** Whether the API server is reached the way that pods go: kube-proxy takes up to a minute to see that it is back. */
const isServiceUp = (): Promise<boolean> =>
  new Promise((resolve) => {
    let isUp = false;
    const socket = openSocket(443, API_SERVICE_IP);
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('connect', () => {
      isUp = true;
      socket.destroy();
    });
    socket.once('error', () => {});
    socket.once('close', () => resolve(isUp));
  });

const isPresent = (kind: Kind, name: string): Promise<boolean> =>
  readObject(kind, name).then(
    () => true,
    () => false,
  );

const serves = (endpoint: EndpointEntry): Promise<boolean> =>
  connect(endpoint)
    .chat.completions.create(
      { model: endpoint.modelId, messages: [{ role: 'user', content: 'Hello' }] },
      { timeout: 5_000 },
    )
    .then(
      () => true,
      () => false,
    );

describe('the operator', function () {
  this.timeout(600_000);
  it('writes nothing when it is restarted and nothing has changed', async () => {
    const readVersions = async () => {
      const list = await kubectl('get', WRITTEN, '-n', 'default', '-o', 'json');
      const items = JSON.parse(list).items as {
        kind: string;
        metadata: { name: string; resourceVersion: string };
      }[];
      return Object.fromEntries(
        items.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion]),
      );
    };
    const before = await readVersions();
    const leader = await readLeader();
    await kubectl('delete', 'pod', '-n', 'berth', '-l', OPERATOR);
    await waitUntil('another leader', 120, async () => {
      const holder = await readLeader();
      return holder !== '' && holder !== leader;
    });
    await waitUntil('both operators', 120, async () => (await listPods(OPERATOR, 'berth')).every(isPodReady));
    await proveReconciling('e2e-restart', 90);
    expect(await readVersions()).to.deep.equal(before);
  });

  it('is followed by its standby when it is killed', async () => {
    const leader = await readLeader();
    const pods = await listPods(OPERATOR, 'berth');
    const pod = pods.find(({ metadata }) => leader.startsWith(metadata.name));
    expect(pod, `${leader} among ${pods.map(({ metadata }) => metadata.name)}`).to.not.equal(undefined);
    await killContainer(pod!, 'operator');
    await waitUntil('another leader', 120, async () => {
      const holder = await readLeader();
      return holder !== '' && holder !== leader;
    });
    await proveReconciling('e2e-takeover', 90);
  });

  describe(`while the API server is away for ${OUTAGE_MS / 1000} s`, () => {
    const name = 'unbothered';
    let endpoint: EndpointEntry;
    before(async () => {
      const env = { SIMULATOR_TOKENS: '40', SIMULATOR_ITL_MS: '25' };
      endpoint = await deploySimulator(name, { env, replicas: 2 });
      await waitForModel(name);
    });
    after(async () => {
      await startComponent(cluster, 'kube-apiserver');
      await waitForServer(cluster);
      await Promise.all([name, 'added-afterwards'].map(removeModel));
    });

    it('traffic never notices, and a model added afterwards serves', async () => {
      const traffic = startTraffic(endpoint);
      let seen: Awaited<ReturnType<typeof traffic.stop>>;
      try {
        await traffic.more(10);
        await stopComponent(cluster, 'kube-apiserver');
        await sleep(OUTAGE_MS);
        await startComponent(cluster, 'kube-apiserver');
        await waitForServer(cluster);
        await waitUntil('the API server for pods', 120, isServiceUp);
        await proveReconciling('e2e-outage', 45);
        const added = await deploySimulator('added-afterwards');
        await waitUntil('the Deployment of the new model', 30, () => isPresent('Deployment', added.name));
        await waitUntil('the new model to serve', OTHERS_SECONDS, () => serves(added));
        await traffic.more(10);
      } finally {
        seen = await traffic.stop();
      }
      expect(seen.failures).to.deep.equal([]);
    });
  });
});
