import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { expect } from 'chai';
import { ANNOTATIONS } from '../../../api/names.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { createMetrics, type OperatorMetrics } from '../../../operator/metrics.ts';
import { createProgram, type Program } from '../../../operator/program.ts';
import { parseSidecarRollout } from '../../../operator/sidecar/settings.ts';
import { connectRedis, type RedisConnection } from '../../../redis/client.ts';
import { addUsage } from '../../../redis/usage/usage.ts';
import { pollUntil } from '../../support/poll.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { DeploymentController, imageOf } from './deployment-controller.ts';
import { MemoryCluster } from './memory-cluster.ts';
import { makeSettings, SYSTEM_NAMESPACE } from './operator-settings.ts';

const MODEL = BERTH_RESOURCES.ModelDeployment;
const STOP_FILE = 'berth-sidecar-rollout';
const OLD = 'berth/berth:test';
const NEW = 'berth/berth:new';
const BROKEN = 'berth/berth:broken';
/** Nothing is waited for but the cluster. */
const SETTINGS = { enabled: true, maxConcurrent: 1, stop: { observe: '0s' } };

describe('the rollout of sidecars by the operator', function () {
  this.timeout(120_000);
  let server: RedisServer;
  let redis: RedisConnection;
  let cluster: MemoryCluster;
  let controller: DeploymentController;
  let program: Program | undefined;
  let metrics: OperatorMetrics;

  before(async () => {
    server = await startRedis();
    redis = connectRedis({ url: server.url, name: 'operator', role: 'operator' });
    await redis.untilUp(20_000);
  });
  after(async () => {
    await redis?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    await redis.redis.flushall();
    cluster = new MemoryCluster(() => 0.1);
    controller = new DeploymentController(cluster);
    controller.brokenImages.add(BROKEN);
    cluster.put(RESOURCES.ConfigMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: STOP_FILE, namespace: SYSTEM_NAMESPACE },
    });
  });
  afterEach(async () => {
    controller.stop();
    await program?.stop();
    program = undefined;
  });

  /** As `helm upgrade` does: the operator stops, and one with other settings starts. */
  async function upgrade(gatewayImage: string, rollout: object = {}): Promise<void> {
    await program?.stop();
    const sidecarRollout = parseSidecarRollout({ ...SETTINGS, ...rollout });
    metrics = createMetrics();
    program = createProgram({
      metrics,
      client: cluster.client,
      leaseClient: cluster.client,
      redis,
      // The simulator's image is its own, so that only the sidecar's differs.
      settings: makeSettings({ gatewayImage, simulatorImage: 'berth/simulator:test', sidecarRollout }),
      podName: 'operator-1',
      lease: { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 5_000 },
      onLost: () => {},
      log: silentLog,
      sidecarCheckIntervalMs: 20,
    });
    await program.start();
  }

  /** Deployments with the old sidecar, as an earlier operator made them. */
  async function install(...keys: string[]): Promise<void> {
    for (const key of keys) {
      const [namespace, name] = key.split('/') as [string, string];
      const spec = { kind: 'LLM', model: { id: 'tiny' }, engine: { preset: 'simulator' } };
      const { apiVersion, kind } = MODEL;
      cluster.put(MODEL, { apiVersion, kind, metadata: { namespace, name }, spec });
    }
    await upgrade(OLD, { enabled: false });
    await pollUntil(isQuiet, 'all to be there');
  }

  const deploymentOf = (key: string) => cluster.store(RESOURCES.Deployment).get(key)!;
  const templateOf = (key: string) => (deploymentOf(key).spec as { template: V1PodTemplateSpec }).template;
  const sidecarOf = (key: string) => imageOf(templateOf(key));
  const stopFile = () =>
    (
      cluster.store(RESOURCES.ConfigMap).get(`${SYSTEM_NAMESPACE}/${STOP_FILE}`) as {
        data?: Record<string, string>;
      }
    ).data;
  const updateOf = (key: string) =>
    (
      cluster.store(MODEL).get(key)!.status as { conditions: { type: string; status: string }[] }
    ).conditions.find(({ type }) => type === 'UpdateAvailable')?.status;
  const eventsOf = (name: string) =>
    (
      [...cluster.store(RESOURCES.Event).values()] as (KubeObject & {
        regarding: { name: string };
        reason: string;
      })[]
    )
      .filter(({ regarding }) => regarding.name === name)
      .map(({ reason }) => reason);
  const isQuiet = () =>
    cluster.pending === 0 &&
    program!.isIdle() &&
    cluster.store(RESOURCES.Deployment).size === cluster.store(MODEL).size &&
    [...cluster.store(MODEL).values()].every(
      ({ status }) => (status as { phase?: string })?.phase === 'Ready',
    );
  const haveSidecar = (image: string, ...keys: string[]) =>
    pollUntil(() => keys.every((key) => sidecarOf(key) === image), `${keys} to have ${image}`);

  /** The controller sees a template a moment after it was written. */
  async function haveRolled(...keys: string[]): Promise<void> {
    await pollUntil(() => controller.rolled.length >= keys.length, `${keys} to roll`);
    expect(controller.rolled).to.deep.equal(keys);
  }

  it('gives one after the other the new sidecar, and their engines stay as they were', async () => {
    await install('a/x', 'b/x', 'c/x');
    const engine = templateOf('a/x').spec!.containers;
    await upgrade(NEW);
    await haveSidecar(NEW, 'a/x', 'b/x', 'c/x');
    await pollUntil(() => ['a/x', 'b/x', 'c/x'].every((key) => updateOf(key) === 'False'), 'their status');
    await haveRolled('a/x', 'b/x', 'c/x');
    expect(controller.mostRolling).to.equal(1);
    expect(templateOf('a/x').spec!.containers).to.deep.equal(engine);
    await pollUntil(() => eventsOf('x').filter((reason) => reason === 'SidecarRollout').length === 3);
  });

  it('writes nothing more once all is rolled, after a restart neither', async () => {
    await install('a/x', 'b/x');
    await upgrade(NEW);
    await haveRolled('a/x', 'b/x');
    await pollUntil(() => controller.isDone && updateOf('b/x') === 'False' && isQuiet());
    const versions = () => ['a/x', 'b/x'].map((key) => [deploymentOf(key), cluster.store(MODEL).get(key)!]);
    const before = versions();
    await upgrade(NEW);
    await pollUntil(isQuiet);
    expect(versions()).to.deep.equal(before);
    expect(stopFile()).to.equal(undefined);
  });

  it('skips deployments that opt out and unlisted namespaces, and reports how to update them', async () => {
    await install('a/out', 'a/x', 'b/x');
    const out = cluster.store(MODEL).get('a/out')!;
    const annotations = { [ANNOTATIONS.sidecarRollout]: 'disabled' };
    cluster.put(MODEL, { ...out, metadata: { ...out.metadata, annotations } });
    await upgrade(NEW, { namespaces: ['a'] });
    await haveSidecar(NEW, 'a/x');
    await pollUntil(() => updateOf('a/x') === 'False' && updateOf('b/x') === 'True' && isQuiet());
    await haveRolled('a/x');
    expect(updateOf('a/out')).to.equal('True');
  });

  it('restarts nothing while it is off', async () => {
    await install('a/x');
    await upgrade(NEW, { enabled: false });
    await pollUntil(() => updateOf('a/x') === 'True' && isQuiet());
    expect(controller.rolled).to.deep.equal([]);
  });

  it('stops after the first whose sidecar cannot start, reports why, and continues with a healthy one', async () => {
    await install('a/x', 'b/x', 'c/x');
    await upgrade(BROKEN);
    await pollUntil(() => stopFile()?.state === 'Stopped', 'the stop to be written down');
    expect(stopFile()).to.deep.include({
      reason: '1 of 1 updated deployments failed: a/x: its new pods did not become ready',
    });
    await pollUntil(() => eventsOf(STOP_FILE).includes('SidecarRolloutStopped'));
    await pollUntil(() => eventsOf('x').includes('SidecarRolloutFailed'));
    const told = await metrics.render();
    expect(told).to.include('berth_operator_sidecar_rollout_stopped 1\n');
    expect(told).to.include('berth_operator_sidecars{state="outdated"} 2\n');
    expect(told).to.include('berth_operator_sidecars{state="failed"} 1\n');
    // Another operator of the same release takes over.
    await upgrade(BROKEN);
    await pollUntil(isQuiet);
    expect(controller.rolled).to.deep.equal(['a/x']);
    await upgrade(NEW);
    await haveSidecar(NEW, 'a/x', 'b/x', 'c/x');
    expect(stopFile()).to.include({ state: 'Running', reason: '' });
  });

  it('takes back what failed with the sidecar of before', async () => {
    await install('a/x', 'b/x');
    const before = templateOf('a/x');
    await upgrade(BROKEN);
    await pollUntil(() => stopFile()?.state === 'Stopped');
    await upgrade(OLD);
    await haveSidecar(OLD, 'a/x');
    expect(templateOf('a/x')).to.deep.equal(before);
    await haveRolled('a/x', 'a/x');
  });

  it('continues once somebody resumes it', async () => {
    await install('a/x', 'b/x', 'c/x');
    await upgrade(BROKEN);
    await pollUntil(() => stopFile()?.state === 'Stopped');
    const file = cluster.store(RESOURCES.ConfigMap).get(`${SYSTEM_NAMESPACE}/${STOP_FILE}`)!;
    const annotations = { [ANNOTATIONS.resume]: 'true' };
    cluster.put(RESOURCES.ConfigMap, { ...file, metadata: { ...file.metadata, annotations } });
    await pollUntil(() => stopFile()?.reason?.includes('b/x') ?? false, 'the next to fail');
    expect(controller.rolled).to.deep.equal(['a/x', 'b/x']);
  });

  it('stops when what it rolled fails more requests than before', async () => {
    await install('a/x', 'b/x', 'c/x');
    const serve = (requests: number, serverErrors: number) =>
      addUsage(redis.redis, {
        namespace: 'a',
        deployment: 'x',
        // Counted are whole minutes after the rollout.
        at: Math.ceil(Date.now() / 60_000) * 60_000,
        sums: new Map([
          ['requests', requests],
          ['serverErrors', serverErrors],
        ] as const),
      });
    await upgrade(NEW, { stop: { observe: '1h' } });
    await pollUntil(() => controller.rolled.length > 0);
    await serve(50, 25);
    await pollUntil(() => stopFile()?.state === 'Stopped', 'the stop');
    expect(stopFile()!.reason).to.include('a/x: its server errors rose from 0.0 % to 50.0 % of requests');
    expect(controller.rolled).to.deep.equal(['a/x']);
  });
});
