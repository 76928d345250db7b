import type { V1Deployment } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readDeployment, readHost, readReplicas } from '../../../redis/publication/published.ts';
import { readyStatus } from '../../integration/operator/cluster-player.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { passSecond, pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

describe('reconciling a ModelDeployment', () => {
  const harness = useHarness();
  let namespace: string;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
  });

  const phaseIs = (name: string, phase: string) =>
    pollUntil(async () => (await harness.cluster.status(namespace, name)).phase === phase, `phase ${phase}`);
  const deploymentOf = (name: string) =>
    harness.cluster.find<Wire<V1Deployment>>(RESOURCES.Deployment, namespace, name);

  it('creates the children, and reports the stages up to a served request', async () => {
    const { cluster, startOperator } = harness;
    await cluster.setFronts(['10.9.0.1']);
    startOperator();
    await cluster.createModel(namespace, 'chat');
    await pollUntil(async () => (await deploymentOf('chat')) !== undefined);
    for (const kind of [RESOURCES.Service, RESOURCES.Secret, RESOURCES.Ingress] as const) {
      const name = kind === RESOURCES.Secret ? 'chat-gateway' : 'chat';
      await pollUntil(async () => (await cluster.find(kind, namespace, name)) !== undefined, kind.kind);
    }
    await phaseIs('chat', 'Starting');
    await cluster.makeReadyPod(namespace, 'chat', '10.1.0.7');
    await phaseIs('chat', 'Ready');
    const status = await cluster.status(namespace, 'chat');
    expect(status.url).to.equal(`http://chat--${namespace}.example.test/v1`);
    expect(status.readyReplicas).to.equal(1);
    expect(status.selector).to.contain('berth.dev/deployment=chat');
    expect(status.registrationId).to.be.a('number');
    await pollUntil(async () =>
      (await readReplicas(harness.redis.redis, namespace, 'chat')).includes('10.1.0.7'),
    );
    expect((await readDeployment(harness.redis.redis, namespace, 'chat'))?.modelId).to.equal('tiny');
    const host = await readHost(harness.redis.redis, `chat--${namespace}.example.test`);
    expect(host).to.deep.equal({ namespace, name: 'chat' });
    await pollUntil(async () => (await cluster.events(namespace, 'chat')).includes('Ready'));
  });

  it('writes nothing when nothing changed: on a second reconciliation, and after a restart', async () => {
    const { cluster, startOperator, settle } = harness;
    const first = startOperator();
    await cluster.createModel(namespace, 'still');
    await pollUntil(async () => (await deploymentOf('still')) !== undefined);
    await cluster.makeReadyPod(namespace, 'still');
    await phaseIs('still', 'Ready');
    await settle(first);
    const before = first.writes().length;
    await Promise.all(first.program.view.all.map((watcher) => watcher.resync()));
    first.program.resync();
    await settle(first);
    expect(first.writes().slice(before)).to.deep.equal([]);
    await first.stop();
    const second = startOperator();
    await settle(second);
    expect(second.writes().filter((write) => !write.endsWith(' leases'))).to.deep.equal([]);
  });

  it('has the front serve while no pod is ready, and stand by while one is', async () => {
    const { cluster, startOperator } = harness;
    await cluster.setFronts(['10.9.0.1', '10.9.0.2']);
    startOperator();
    await cluster.createModel(namespace, 'fronted');
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'fronted'))?.length === 2);
    await pollUntil(async () => (await deploymentOf('fronted')) !== undefined);
    const pod = await cluster.makeReadyPod(namespace, 'fronted');
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'fronted')) === undefined);
    expect(await cluster.standbyAddresses(namespace, 'fronted')).to.deep.equal(['10.9.0.1', '10.9.0.2']);
    await cluster.setFronts(['10.9.0.2', '10.9.0.3']);
    await pollUntil(async () => (await cluster.standbyAddresses(namespace, 'fronted'))[1] === '10.9.0.3');
    await cluster.setPod(namespace, pod, {
      conditions: [{ type: 'Ready', status: 'False' }],
    });
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'fronted'))?.length === 2);
    await cluster.setPod(namespace, pod, readyStatus('10.1.0.1'));
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'fronted')) === undefined);
    await cluster.deletePod(namespace, pod);
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'fronted'))?.length === 2);
  });

  it('publishes pods whose node is unreachable to the front, but not those that cannot answer', async () => {
    const { cluster, startOperator } = harness;
    await cluster.setFronts(['10.9.0.1']);
    startOperator();
    await cluster.createModel(namespace, 'unseen');
    await pollUntil(async () => (await deploymentOf('unseen')) !== undefined);
    const pod = await cluster.makeReadyPod(namespace, 'unseen', '10.1.0.7');
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'unseen')) === undefined);
    const replicas = () => readReplicas(harness.redis.redis, namespace, 'unseen');
    const say = (containersReady: string) =>
      cluster.setPod(namespace, pod, {
        podIP: '10.1.0.7',
        conditions: [
          { type: 'Ready', status: 'False' },
          { type: 'ContainersReady', status: containersReady },
        ],
      });
    await say('True');
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'unseen'))?.length === 1);
    await pollUntil(async () => (await replicas()).join() === '10.1.0.7');
    await say('False');
    await pollUntil(async () => (await replicas()).length === 0);
  });

  it('puts the front in before a pause takes the last pod', async () => {
    const { cluster, startOperator } = harness;
    const operator = startOperator();
    await cluster.createModel(namespace, 'paused');
    await pollUntil(async () => (await deploymentOf('paused')) !== undefined);
    await cluster.makeReadyPod(namespace, 'paused');
    await phaseIs('paused', 'Ready');
    await pollUntil(async () => (await cluster.frontAddresses(namespace, 'paused')) === undefined);
    await harness.settle(operator);
    const before = operator.writes().length;
    await cluster.change(namespace, 'paused', { paused: true });
    await phaseIs('paused', 'Paused');
    expect((await cluster.condition(namespace, 'paused', 'Ready'))?.status).to.equal('True');
    const writes = operator.writes().slice(before);
    expect(writes.indexOf('apply endpointslices')).to.be.within(0, writes.indexOf('apply deployments') - 1);
    expect((await deploymentOf('paused'))?.spec?.replicas).to.equal(0);
    await pollUntil(async () => (await cluster.events(namespace, 'paused')).includes('Paused'));
    await cluster.change(namespace, 'paused', { paused: false });
    await pollUntil(async () => (await deploymentOf('paused'))?.spec?.replicas === 1);
  });

  it('puts the front in before a rollout takes the only pod, and not when two are ready', async () => {
    const { cluster, startOperator, settle } = harness;
    const operator = startOperator();
    for (const [name, replicas] of [
      ['alone', 1],
      ['two', 2],
    ] as const) {
      await cluster.createModel(namespace, name, { replicas });
      await pollUntil(async () => (await deploymentOf(name)) !== undefined);
      for (let i = 0; i < replicas; i++) await cluster.makeReadyPod(namespace, name, `10.1.0.${i + 1}`);
      await phaseIs(name, 'Ready');
      await pollUntil(async () => (await cluster.frontAddresses(namespace, name)) === undefined);
      await settle(operator);
      const before = operator.writes().length;
      await cluster.change(namespace, name, { engine: { image: 'engine:2' } });
      await pollUntil(
        async () => (await deploymentOf(name))?.spec?.template.spec?.containers[0]?.image === 'engine:2',
      );
      await settle(operator);
      // Whoever waits for the change must not take the state before it for its end.
      expect((await cluster.condition(namespace, name, 'Reconciling'))?.status).to.equal('True');
      const writes = operator.writes().slice(before);
      const put = writes.indexOf('apply endpointslices');
      if (replicas === 1) expect(put).to.be.within(0, writes.indexOf('apply deployments') - 1);
      else expect(put).to.equal(-1);
      await cluster.setDeploymentStatus(namespace, name, { updatedReplicas: 0 });
      await pollUntil(
        async () => (await cluster.condition(namespace, name, 'Progressing'))?.reason === 'RollingOut',
      );
      await cluster.setDeploymentStatus(namespace, name);
      await pollUntil(async () => (await cluster.events(namespace, name)).includes('RolledOut'));
      await pollUntil(async () => (await cluster.condition(namespace, name, 'Reconciling')) === undefined);
    }
  });

  it('reports the reason of a stuck pod on the deployment', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    await cluster.createModel(namespace, 'stuck', { gpu: { count: 1 } });
    await pollUntil(async () => (await deploymentOf('stuck')) !== undefined);
    const pending = await cluster.makePod(
      namespace,
      'stuck',
      {
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: none.',
          },
        ],
      },
      null,
    );
    await pollUntil(
      async () =>
        (await cluster.condition(namespace, 'stuck', 'Ready'))?.message ===
        'Insufficient nvidia.com/gpu (0 of 4 nodes fit)',
    );
    await pollUntil(async () => (await cluster.events(namespace, 'stuck')).includes('InsufficientGPUs'));
    await cluster.removePod(namespace, pending);
    await cluster.makePod(namespace, 'stuck', {
      containerStatuses: [
        {
          name: 'engine',
          image: 'engine:1',
          imageID: '',
          ready: false,
          restartCount: 4,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 1, message: 'no CUDA device' } },
        },
      ],
    });
    await phaseIs('stuck', 'Failed');
    expect((await cluster.condition(namespace, 'stuck', 'EngineHealthy'))?.message).to.equal(
      'engine exited with code 1, 4 restarts; last log: no CUDA device',
    );
  });

  it('repairs what somebody changed or deleted', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    await cluster.createModel(namespace, 'drift');
    await pollUntil(async () => (await cluster.find(RESOURCES.Ingress, namespace, 'drift')) !== undefined);
    await cluster.delete(RESOURCES.Service, namespace, 'drift');
    await cluster.client.mergePatch(RESOURCES.Deployment, {
      at: { namespace, name: 'drift' },
      patch: { spec: { replicas: 7 } },
    });
    await pollUntil(async () => (await deploymentOf('drift'))?.spec?.replicas === 1);
    await pollUntil(async () => (await cluster.find(RESOURCES.Service, namespace, 'drift')) !== undefined);
  });

  it('reports which Secret is missing, and continues once it exists', async () => {
    const { cluster, startOperator } = harness;
    const clock = { now: Date.now() };
    startOperator({ now: () => clock.now });
    const source = { huggingFace: { repo: 'a/b', tokenSecret: { name: 'hf', key: 'token' } } };
    await cluster.createModel(namespace, 'gated', { model: { id: 'tiny', source } });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'gated', 'Accepted'))?.reason === 'SecretNotFound',
    );
    expect(await deploymentOf('gated')).to.equal(undefined);
    await cluster.client.create(RESOURCES.Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'hf', namespace },
      stringData: { token: 'x' },
    });
    // Secrets are not watched: any change of the object reconciles it before the timer does.
    await cluster.change(namespace, 'gated', { paused: false, replicas: 1 });
    await pollUntil(async () => (await deploymentOf('gated')) !== undefined);
    await pollUntil(async () => (await cluster.condition(namespace, 'gated', 'Accepted'))?.status === 'True');
  });

  it('takes nothing that somebody else made', async () => {
    const { cluster, startOperator } = harness;
    await cluster.client.create(RESOURCES.Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'mine', namespace },
      spec: { ports: [{ name: 'x', port: 1 }] },
    });
    startOperator();
    await cluster.createModel(namespace, 'mine');
    await pollUntil(
      async () => (await cluster.condition(namespace, 'mine', 'Accepted'))?.reason === 'NotOwned',
    );
    expect((await cluster.condition(namespace, 'mine', 'Accepted'))?.message).to.contain(
      `Service ${namespace}/mine`,
    );
    expect(await deploymentOf('mine')).to.equal(undefined);
  });

  it('names what the API server refuses of a child', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    await cluster.createModel(namespace, 'wrong', { template: { tolerations: [{ operator: 'Nonsense' }] } });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'wrong', 'Accepted'))?.reason === 'Rejected',
    );
    expect((await cluster.condition(namespace, 'wrong', 'Accepted'))?.message).to.contain('tolerations');
  });

  it('starts from a status that shows that no operator has seen the object', async () => {
    const { cluster, startOperator } = harness;
    await cluster.createModel(namespace, 'new');
    expect(await cluster.status(namespace, 'new')).to.deep.equal({ observedGeneration: -1, conditions: [] });
    startOperator();
    await pollUntil(async () => (await cluster.status(namespace, 'new')).observedGeneration === 1);
  });

  it('says of a pod template that no annotation can keep what helps, and takes one that is just small enough', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    const spec = (kib: number) => ({
      engine: { preset: 'simulator', env: [{ name: 'TEXT', value: 'x'.repeat(kib * 1024) }] },
    });
    await cluster.createModel(namespace, 'large', spec(256));
    await pollUntil(
      async () => (await cluster.condition(namespace, 'large', 'Stalled'))?.reason === 'PodTemplateTooLarge',
    );
    expect((await cluster.condition(namespace, 'large', 'Accepted'))?.message).to.contain('ConfigMap');
    expect(await deploymentOf('large')).to.equal(undefined);
    await cluster.createModel(namespace, 'fits', spec(240));
    await pollUntil(async () => (await deploymentOf('fits')) !== undefined);
  });

  it('lets the older of two keep a host, and the other have it when it goes', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    const other = await cluster.makeNamespace();
    const route = { host: `shared-${namespace}.example.test` };
    await cluster.createModel(namespace, 'older', { route });
    await pollUntil(async () => (await deploymentOf('older')) !== undefined);
    await passSecond();
    await cluster.createModel(other, 'newer', { route });
    await pollUntil(
      async () => (await cluster.condition(other, 'newer', 'RouteReady'))?.reason === 'HostConflict',
    );
    expect(await cluster.find(RESOURCES.Ingress, other, 'newer')).to.equal(undefined);
    expect((await cluster.condition(namespace, 'older', 'RouteReady'))?.status).to.equal('True');
    expect(await readHost(harness.redis.redis, route.host)).to.deep.equal({ namespace, name: 'older' });
    await cluster.delete(BERTH_RESOURCES.ModelDeployment, namespace, 'older');
    await pollUntil(async () => (await cluster.condition(other, 'newer', 'RouteReady'))?.status === 'True');
    await pollUntil(async () => (await cluster.find(RESOURCES.Ingress, other, 'newer')) !== undefined);
    await pollUntil(async () => (await readHost(harness.redis.redis, route.host))?.name === 'newer');
  });

  it('withholds the route of a host that is not allowed, and runs the pods all the same', async () => {
    const { cluster, startOperator } = harness;
    startOperator();
    await cluster.createModel(namespace, 'wide', { route: { host: 'elsewhere.example.com' } });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'wide', 'RouteReady'))?.reason === 'HostNotAllowed',
    );
    await pollUntil(async () => (await deploymentOf('wide')) !== undefined);
    expect(await cluster.find(RESOURCES.Ingress, namespace, 'wide')).to.equal(undefined);
    expect(await readHost(harness.redis.redis, 'elsewhere.example.com')).to.equal(null);
  });

  it('reports that the cluster has no ingress class, until it has a default one', async () => {
    const { cluster, startOperator } = harness;
    startOperator({ settings: makeSettings({ ingressClass: undefined }) });
    await cluster.createModel(namespace, 'classless');
    await pollUntil(
      async () =>
        (await cluster.condition(namespace, 'classless', 'RouteReady'))?.reason === 'NoIngressClass',
    );
    expect((await cluster.condition(namespace, 'classless', 'Accepted'))?.status).to.equal('True');
    await cluster.client.create(RESOURCES.IngressClass, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'chosen', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'example.test/controller' },
    });
    await cluster.change(namespace, 'classless', { model: { displayName: 'x' } });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'classless', 'RouteReady'))?.status === 'True',
    );
    await cluster.client.delete(RESOURCES.IngressClass, { name: 'chosen' });
  });

  it('keeps the pods of an older sidecar when the operator is upgraded, and reports a newer one', async () => {
    const { cluster, startOperator, settle } = harness;
    const first = startOperator();
    await cluster.createModel(namespace, 'pinned');
    await pollUntil(async () => (await deploymentOf('pinned')) !== undefined);
    await cluster.makeReadyPod(namespace, 'pinned');
    await settle(first);
    await first.stop();
    const before = await deploymentOf('pinned');
    const second = startOperator({
      settings: makeSettings({ version: '9.9.9', gatewayImage: 'berth/berth:9.9.9' }),
    });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'pinned', 'UpdateAvailable'))?.status === 'True',
    );
    await settle(second);
    expect((await deploymentOf('pinned'))?.spec?.template).to.deep.equal(before?.spec?.template);
    await cluster.change(namespace, 'pinned', { rollout: { revision: 'take-it' } });
    await pollUntil(
      async () => (await cluster.condition(namespace, 'pinned', 'UpdateAvailable'))?.status === 'False',
    );
    expect((await cluster.status(namespace, 'pinned')).sidecarVersion).to.equal('9.9.9');
  });
});
