import type { V1Deployment, V1Service } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { adapterPort } from '../../../api/model-adapter.ts';
import type { ModelDeployment } from '../../../api/model-deployment.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/cluster-view.ts';
import { createProgram, type Program } from '../../../operator/program.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { readDeployment, readHost, readReplicas } from '../../../redis/publication/published.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { readyStatus } from './cluster-player.ts';
import { MemoryCluster } from './memory-cluster.ts';
import { makeSettings } from './operator-settings.ts';

const MODEL = BERTH_RESOURCES.ModelDeployment;
const namespace = 'team-a';

describe('An adapter of a deployment', function () {
  this.timeout(60_000);
  let stack: TestStack;
  let program: Program;
  let cluster: MemoryCluster;

  const put = (name: string, spec: object) =>
    cluster.put(MODEL, {
      apiVersion: MODEL.apiVersion,
      kind: MODEL.kind,
      metadata: { ...cluster.store(MODEL).get(`${namespace}/${name}`)?.metadata, namespace, name },
      spec,
    } as KubeObject);
  const putBase = (engine: object = {}, more: object = {}) =>
    put('chat', {
      kind: 'LLM',
      model: { id: 'qwen' },
      engine: { preset: 'vllm', args: ['qwen'], adapters: { claimName: 'models' }, ...engine },
      ...more,
    });
  const putAdapter = (more: object = {}) =>
    put('sql', {
      kind: 'LLM',
      model: {
        id: 'acme/sql',
        source: { huggingFace: { repo: 'acme/sql-lora' } },
      },
      adapterOf: { deployment: 'chat' },
      ...more,
    });
  const putClaim = () =>
    cluster.put(RESOURCES.PersistentVolumeClaim, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name: 'models' },
      spec: { accessModes: ['ReadWriteMany'] },
    });
  const conditionOf = (name: string, type: string) =>
    (
      cluster.store(MODEL).get(`${namespace}/${name}`) as unknown as ModelDeployment | undefined
    )?.status?.conditions?.find((condition) => condition.type === type);
  const until = (reason: string, type = 'AdapterReady', name = 'sql') =>
    pollUntil(() => conditionOf(name, type)?.reason === reason, `${type} ${reason}`, 20_000);
  const engineArgs = () => {
    const deployment = cluster.store(RESOURCES.Deployment).get(`${namespace}/chat`) as
      | Wire<V1Deployment>
      | undefined;
    return deployment?.spec?.template.spec?.containers[0]?.args ?? [];
  };
  const putPod = () =>
    cluster.put(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace,
        name: 'chat-1',
        labels: (cluster.store(RESOURCES.Deployment).get(`${namespace}/chat`) as Wire<V1Deployment>).spec!
          .template.metadata!.labels!,
      },
      spec: {},
      status: readyStatus('10.1.0.1'),
    });
  /** As the Job's controller does once the files are there. */
  const download = () =>
    pollUntil(() => {
      const job = cluster.store(RESOURCES.Job).get(`${namespace}/sql-prefetch`);
      if (job) cluster.put(RESOURCES.Job, { ...job, status: { succeeded: 1 } } as KubeObject);
      return job !== undefined;
    }, 'the Job');
  const engineName = async () => (await readDeployment(stack.redis, namespace, 'sql'))!.servedModelName;
  const report = (beat: { ready: boolean; adapter?: string; adapterError?: string }) =>
    heartbeat(stack.redis, {
      namespace,
      name: 'sql',
      heartbeat: describeReplica({ pod: 'chat-1', ...beat }),
    });

  beforeEach(async () => {
    stack = await TestStack.start();
    cluster = new MemoryCluster(() => 0.1);
    program = createProgram({
      client: cluster.client,
      leaseClient: cluster.client,
      redis: stack.connection,
      settings: makeSettings(),
      podName: 'operator-1',
      lease: { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 5_000 },
      onLost: () => {},
      log: silentLog,
    });
    await program.start();
  });
  afterEach(async () => {
    await program.stop();
    await stack.stop();
  });

  it('has a Service of the pods of its base and a host, and nothing that starts pods', async () => {
    putClaim();
    putBase();
    putAdapter();
    await until('Downloading');
    await download();
    await until('BaseNotReady');
    const own = (resource: { plural: string }) => cluster.store(resource).get(`${namespace}/sql`);
    const service = own(RESOURCES.Service) as Wire<V1Service>;
    expect(service.spec!.selector).to.include({ 'berth.dev/deployment': 'chat' });
    expect(service.spec!.ports![0]!.targetPort).to.equal(adapterPort('sql'));
    expect(own(RESOURCES.Ingress)).not.to.equal(undefined);
    expect(own(RESOURCES.Deployment)).to.equal(undefined);
    await pollUntil(
      async () => (await readHost(stack.redis, 'sql--team-a.example.test'))?.name === 'sql',
      'its host',
    );
  });

  it('gives its base the flags, and the base and the fronts its configuration', async () => {
    putClaim();
    putBase();
    putAdapter({ pricing: { perMillionInputTokens: '3' } });
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    putPod();
    const read = () => readDeployment(stack.redis, namespace, 'chat');
    await pollUntil(async () => (await read())?.adapters?.length === 1, 'the adapters of the base');
    const [nested] = (await read())!.adapters as GatewayConfig[];
    await pollUntil(
      async () => (await readReplicas(stack.redis, namespace, 'sql')).join() === '10.1.0.1',
      'pods',
    );
    const published = (await readDeployment(stack.redis, namespace, 'sql'))!;
    expect(published).to.deep.include({ name: 'sql', modelId: 'acme/sql', adapter: nested!.adapter });
    expect(published.servedModelName).to.equal(nested!.servedModelName);
    expect(published.pricing.perMillionInputTokens).to.equal(3_000_000);
  });

  it('says in the words of the engine why it is not loaded, and is ready once it is', async () => {
    putClaim();
    putBase();
    putAdapter();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    putPod();
    await download();
    await report({ ready: false, adapterError: 'LoRA rank 64 is greater than max_lora_rank 16.' });
    await until('LoadFailed');
    expect(conditionOf('sql', 'AdapterReady')!.message).to.equal(
      'LoRA rank 64 is greater than max_lora_rank 16.',
    );
    expect(conditionOf('sql', 'Ready')).to.include({ status: 'False', reason: 'LoadFailed' });
    await report({ ready: true, adapter: await engineName() });
    await until('Loaded');
    await until('Ready', 'Ready');
  });

  it('is dropped by a base that can no longer serve it, whose pods are then as its spec says', async () => {
    putClaim();
    putBase();
    putAdapter();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    putBase({ preset: 'sglang' });
    await until('NotAccepted');
    await until('BaseNotSupported', 'Accepted');
    await pollUntil(() => !engineArgs().includes('--enable-lora'), 'a base without flags');
    expect(JSON.stringify(cluster.store(RESOURCES.Deployment).get(`${namespace}/chat`))).not.to.include(
      'berth-adapters',
    );
    const service = cluster.store(RESOURCES.Service).get(`${namespace}/sql`) as Wire<V1Service>;
    expect(service.spec!.selector).to.include({ 'berth.dev/deployment': 'sql' });
  });

  it('is refused without its base, without its claim, and for a base that cannot serve it; the base is left alone', async () => {
    putAdapter();
    await until('BaseNotFound', 'Accepted');
    putBase({ preset: 'llama-cpp' });
    await until('BaseNotSupported', 'Accepted');
    putBase({}, { scaling: { min: 0, max: 2 } });
    await pollUntil(
      () => conditionOf('sql', 'Accepted')!.message.includes('scale to zero'),
      'refused for its scaling',
    );
    putBase();
    await until('ClaimNotFound', 'Accepted');
    expect(conditionOf('sql', 'AdapterReady')).to.include({ status: 'False', reason: 'NotAccepted' });
    expect(engineArgs()).not.to.include('--enable-lora');
  });

  it('leaves nothing when it is deleted', async () => {
    putClaim();
    putBase();
    putAdapter();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    cluster.delete(MODEL, `${namespace}/sql`);
    await pollUntil(() => !cluster.store(MODEL).has(`${namespace}/sql`), 'its end');
    await pollUntil(
      async () => !(await readDeployment(stack.redis, namespace, 'chat'))?.adapters,
      'the base without it',
    );
    expect(await readHost(stack.redis, 'sql--team-a.example.test')).to.equal(null);
    await pollUntil(() => !engineArgs().includes('--enable-lora'), 'a base without flags');
  });
});
