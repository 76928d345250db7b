import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { ANNOTATIONS, FIELD_MANAGER, SCALER_FIELD_MANAGER } from '../../../api/names.ts';
import { channels } from '../../../api/redis-keys.ts';
import { ownedFields } from '../../../kube/managed-fields.ts';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { readDeployment } from '../../../redis/publication/published.ts';
import { readyStatus } from '../../integration/operator/cluster-player.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const SAMPLE_INTERVAL_MS = 100;
const SCALING = {
  min: 0,
  max: 3,
  targetConcurrency: 2,
  stableWindow: '2s',
  panicWindow: '1s',
  idleTimeout: '3s',
};

/** How often an operator has read the demand since. */
function countReadings(redis: RedisClient): () => number {
  let count = 0;
  const fcall = redis.fcall.bind(redis);
  redis.fcall = ((name: string, ...args: [number, ...string[]]) => {
    if (name === FUNCTIONS.demand) count++;
    return fcall(name, ...args);
  }) as typeof redis.fcall;
  return () => count;
}

describe('the autoscaler in the operator', function () {
  this.timeout(120_000);
  const harness = useHarness();
  let namespace: string;
  let beating: NodeJS.Timeout | undefined;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    await harness.cluster.setFronts(['10.9.0.1']);
  });
  afterEach(() => clearInterval(beating));

  const start = () => harness.startOperator({ scalingIntervalMs: SAMPLE_INTERVAL_MS });
  const deploymentOf = (name: string) =>
    harness.cluster.find<Wire<V1Deployment>>(RESOURCES.Deployment, namespace, name);
  const replicasOf = async (name: string) => (await deploymentOf(name))?.spec?.replicas;
  const untilReplicas = (name: string, replicas: number) =>
    pollUntil(async () => (await replicasOf(name)) === replicas, `${replicas} replicas of ${name}`, 30_000);
  const create = async (name: string, spec: object = { scaling: SCALING }) => {
    await harness.cluster.createModel(namespace, name, spec);
    await pollUntil(async () => (await deploymentOf(name)) !== undefined);
  };
  const wake = (name: string) => harness.redis.redis.publish(channels.wake, `${namespace}/${name}`);
  /** Keeps telling what a deployment's replicas do, as their gateways would. */
  const beat = (name: string, loads: Record<string, number>) => {
    clearInterval(beating);
    const busy = new Map<string, number>();
    const since = Date.now();
    beating = setInterval(() => {
      for (const [pod, load] of Object.entries(loads)) {
        busy.set(pod, Math.round((Date.now() - since) * load));
        const word = describeReplica({
          pod,
          boot: `${since}`,
          inflight: load,
          busyMs: busy.get(pod)!,
          arrivals: 1,
          activeAt: load > 0 ? Date.now() : since,
          every: 10_000,
        });
        heartbeat(harness.redis.redis, { namespace, name, heartbeat: word }).catch(() => {});
      }
    }, 50);
  };
  const makeReady = async (name: string, ip: string) => {
    const pod = await harness.cluster.makePod(namespace, name, readyStatus(ip));
    await harness.cluster.setDeploymentStatus(namespace, name);
    return pod;
  };

  it('begins at the minimum, and wakes it from zero when a front wants a replica', async () => {
    start();
    await create('asleep');
    expect(await replicasOf('asleep')).to.equal(0);
    await pollUntil(async () => (await harness.cluster.status(namespace, 'asleep')).phase === 'ScaledToZero');
    await wake('asleep');
    await untilReplicas('asleep', 1);
    await pollUntil(async () => (await harness.cluster.status(namespace, 'asleep')).scaling?.wanted === 1);
    const { scaling } = await harness.cluster.status(namespace, 'asleep');
    expect(scaling).to.deep.include({ wanted: 1, reason: 'a request waits for the first replica' });
    const notes = () => harness.cluster.eventNotes(namespace, 'asleep', 'Scaled');
    await pollUntil(async () => (await notes()).length > 0, 'the event');
    expect(await notes()).to.include('scaled from 0 to 1 replicas: a request waits for the first replica');
  });

  it('shows by `kubectl get` how many replicas are wanted, and how many are ready', async () => {
    start();
    await create('shown', { scaling: { ...SCALING, min: 2 } });
    await untilReplicas('shown', 2);
    await makeReady('shown', '10.1.0.1');
    const columns = () => harness.cluster.columns(namespace, 'shown');
    await pollUntil(async () => (await columns()).Ready === 1, 'the ready replica');
    expect(await columns()).to.include({ Wanted: 2, Ready: 1 });
  });

  it('owns the replicas alone, so that reconciling anything else leaves them', async () => {
    const operator = start();
    await create('owned');
    await wake('owned');
    await untilReplicas('owned', 1);
    await harness.cluster.change(namespace, 'owned', { template: { labels: { changed: 'yes' } } });
    await pollUntil(
      async () => (await deploymentOf('owned'))?.spec?.template.metadata?.labels?.changed === 'yes',
    );
    await harness.settle(operator);
    const live = (await deploymentOf('owned'))!;
    const replicasIn = (manager: string) => ownedFields(live, manager)?.['f:spec']?.['f:replicas'];
    expect(replicasIn(SCALER_FIELD_MANAGER)).to.deep.equal({});
    expect(replicasIn(FIELD_MANAGER)).to.equal(undefined);
  });

  it('keeps the replicas of a deployment that is scaled from now on, and gives them back', async () => {
    start();
    await create('changed', { replicas: 3 });
    await untilReplicas('changed', 3);
    await harness.cluster.change(namespace, 'changed', { replicas: null, scaling: { ...SCALING, min: 2 } });
    await pollUntil(
      async () =>
        ownedFields((await deploymentOf('changed'))!, FIELD_MANAGER)?.['f:spec']?.['f:replicas'] ===
        undefined,
    );
    expect(await replicasOf('changed')).to.equal(3);
    await harness.cluster.change(namespace, 'changed', { replicas: 1, scaling: null });
    await untilReplicas('changed', 1);
  });

  it('adds replicas for a burst, then lets the least busy go, cordoned first', async () => {
    start();
    // Longer than any stall of this process, in which no heartbeat comes; no load is near what one replica more is for.
    await create('busy', { scaling: { ...SCALING, targetConcurrency: 3, idleTimeout: '60s' } });
    await wake('busy');
    await untilReplicas('busy', 1);
    const first = await makeReady('busy', '10.1.0.1');
    beat('busy', { [first]: 8 });
    await untilReplicas('busy', 3);
    const [second, third] = [await makeReady('busy', '10.1.0.2'), await makeReady('busy', '10.1.0.3')];
    beat('busy', { [first]: 1, [second]: 0, [third]: 1 });
    const cordonOf = async () => (await readDeployment(harness.redis.redis, namespace, 'busy'))?.cordoned;
    await pollUntil(async () => (await cordonOf())?.includes(second) === true, 'the cordon', 30_000);
    // Gateways have to know of the cordon first.
    expect(await replicasOf('busy')).to.equal(3);
    beat('busy', { [first]: 1, [second]: 0, [third]: 0 });
    await pollUntil(
      async () => {
        // On a busy machine it may go to two replicas before: a change that the Deployment controller has to see.
        await harness.cluster.setDeploymentStatus(namespace, 'busy');
        return (await replicasOf('busy')) === 1;
      },
      '1 replica of busy',
      30_000,
    );
    for (const name of [second, third]) {
      const pod = await harness.cluster.find<Wire<V1Pod>>(RESOURCES.Pod, namespace, name);
      expect(pod?.metadata.annotations?.[ANNOTATIONS.deletionCost], name).to.equal('-1000');
    }
    expect(await cordonOf()).to.have.members([second, third]);
  });

  it('goes to zero when idle, with the front in its place before', async () => {
    start();
    // Long enough for a replica to become ready on a busy machine before it is idle.
    await create('idle', { scaling: { ...SCALING, idleTimeout: '10s' } });
    await wake('idle');
    await untilReplicas('idle', 1);
    const pod = await makeReady('idle', '10.1.0.1');
    beat('idle', { [pod]: 1 });
    await pollUntil(async () => {
      // The Deployment controller sees each change of the spec, also one that comes after the pod was made.
      await harness.cluster.setDeploymentStatus(namespace, 'idle');
      return (await harness.cluster.frontAddresses(namespace, 'idle')) === undefined;
    });
    beat('idle', { [pod]: 0 });
    let seen: string[] | undefined;
    await pollUntil(async () => {
      const fronts = await harness.cluster.frontAddresses(namespace, 'idle');
      if ((await replicasOf('idle')) !== 0) return false;
      seen = fronts;
      return true;
    });
    expect(seen).to.deep.equal(['10.9.0.1']);
    await pollUntil(async () => (await harness.cluster.status(namespace, 'idle')).phase === 'ScaledToZero');
    const { scaling } = await harness.cluster.status(namespace, 'idle');
    expect(scaling?.lastChange).to.include({ from: 1, to: 0 });
    expect(scaling?.reason).to.match(/^idle for/);
  });

  it('changes nothing when the operator restarts', async () => {
    const spec = { scaling: { ...SCALING, stableWindow: '30s', idleTimeout: '30s' } };
    const first = start();
    await create('kept', spec);
    await wake('kept');
    await untilReplicas('kept', 1);
    const pod = await makeReady('kept', '10.1.0.1');
    beat('kept', { [pod]: 0 });
    await harness.settle(first);
    await first.stop();
    const generation = (await deploymentOf('kept'))?.metadata.generation;
    const second = start();
    await harness.settle(second);
    const readings = countReadings(second.redis.redis);
    await pollUntil(() => readings() >= 30, 'the demand to be read often, while no window is full');
    expect((await deploymentOf('kept'))?.metadata.generation).to.equal(generation);
    expect(await replicasOf('kept')).to.equal(1);
  });

  it('pauses at once, and cannot be scaled by hand', async () => {
    start();
    await create('paused', { scaling: { ...SCALING, min: 1 } });
    await untilReplicas('paused', 1);
    await harness.cluster.change(namespace, 'paused', { paused: true });
    await untilReplicas('paused', 0);
    await wake('paused');
    await harness.cluster.change(namespace, 'paused', { paused: false });
    await untilReplicas('paused', 1);
    const scaled = await harness.cluster.change(namespace, 'paused', { replicas: 2 }).then(
      (object: KubeObject) => object,
      (error: Error) => error,
    );
    expect(scaled).to.be.instanceOf(Error);
    expect((scaled as Error).message).to.include('replicas and scaling cannot be given together');
  });
});
