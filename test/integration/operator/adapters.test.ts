import type { V1Deployment, V1Job, V1Service } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { adapterPort } from '../../../api/model-adapter.ts';
import type { ModelDeployment } from '../../../api/model-deployment.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
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

function countCalls(client: KubeClient, calls: string[]): KubeClient {
  return new Proxy(client, {
    get(target, property, receiver) {
      const call = Reflect.get(target, property, receiver) as unknown;
      if (typeof call !== 'function') return call;
      return (resource: Resource, at: { namespace?: string; name?: string }, ...rest: unknown[]) => {
        calls.push(`${String(property)} ${resource?.kind} ${at?.namespace}/${at?.name}`);
        return (call as (...args: unknown[]) => unknown).call(target, resource, at, ...rest);
      };
    },
  });
}

describe('An adapter of a deployment', function () {
  this.timeout(60_000);
  let stack: TestStack;
  let program: Program;
  let cluster: MemoryCluster;
  /** Each as its kind of call, the kind of object, and its name. */
  const calls: string[] = [];

  const put = (name: string, spec: object) =>
    cluster.put(MODEL, {
      ...cluster.store(MODEL).get(`${namespace}/${name}`),
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
  const putClaim = (accessMode = 'ReadWriteMany') =>
    cluster.put(RESOURCES.PersistentVolumeClaim, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name: 'models' },
      spec: { accessModes: [accessMode] },
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
  const podTemplate = () =>
    (cluster.store(RESOURCES.Deployment).get(`${namespace}/chat`) as Wire<V1Deployment>).spec!.template;
  const putPod = (metadata: object = {}) =>
    cluster.put(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace,
        name: 'chat-1',
        labels: (cluster.store(RESOURCES.Deployment).get(`${namespace}/chat`) as Wire<V1Deployment>).spec!
          .template.metadata!.labels!,
        ...metadata,
      },
      spec: {},
      status: readyStatus('10.1.0.1'),
    });
  /** As the Job's controller does once the files are there. */
  const download = () =>
    pollUntil(() => {
      const job = cluster.store(RESOURCES.Job).get(`${namespace}/sql-prefetch`) as Wire<V1Job> | undefined;
      const isNew = job !== undefined && !job.status?.succeeded;
      if (isNew) cluster.put(RESOURCES.Job, { ...job, status: { succeeded: 1 } } as KubeObject);
      return isNew;
    }, 'the Job');
  const entry = () =>
    (cluster.store(MODEL).get(`${namespace}/sql`) as unknown as ModelDeployment).status?.adapter?.entry;
  const nestedNames = async () =>
    ((await readDeployment(stack.redis, namespace, 'chat'))?.adapters as GatewayConfig[] | undefined)?.map(
      ({ servedModelName }) => servedModelName,
    ) ?? [];
  /** Its files are there, and the base's gateways know it. */
  const serve = async () => {
    await download();
    await pollUntil(async () => (await nestedNames()).length === 1, 'served by its base');
  };
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
    calls.length = 0;
    program = createProgram({
      client: countCalls(cluster.client, calls),
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

  it('has a host at once, a Service of the pods of its base once it was downloaded, and nothing that starts pods', async () => {
    putClaim();
    putBase();
    putAdapter();
    await until('Downloading');
    const own = (resource: { plural: string }) => cluster.store(resource).get(`${namespace}/sql`);
    const selector = () =>
      (own(RESOURCES.Service) as Wire<V1Service>).spec!.selector!['berth.dev/deployment'];
    expect(selector()).to.equal('sql');
    await serve();
    await until('BaseNotReady');
    expect(selector()).to.equal('chat');
    expect((own(RESOURCES.Service) as Wire<V1Service>).spec!.ports![0]!.targetPort).to.equal(
      adapterPort('sql'),
    );
    expect(own(RESOURCES.Ingress)).not.to.equal(undefined);
    expect(own(RESOURCES.Deployment)).to.equal(undefined);
    const recorded = [...cluster.store(RESOURCES.ControllerRevision).values()];
    expect(recorded.map(({ metadata }) => metadata.ownerReferences![0]!.name).sort()).to.deep.equal([
      'chat',
      'sql',
    ]);
    await pollUntil(
      async () => (await readHost(stack.redis, 'sql--team-a.example.test'))?.name === 'sql',
      'its host',
    );
  });

  it('is known to the gateways of its base and to the fronts, with prices of its own', async () => {
    putClaim();
    putBase();
    putAdapter({ pricing: { perMillionInputTokens: '3' } });
    await serve();
    putPod();
    const [nested] = (await readDeployment(stack.redis, namespace, 'chat'))!.adapters as GatewayConfig[];
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
    await serve();
    putPod();
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

  it('changes nothing of the pods of its base, whatever becomes of it', async () => {
    putClaim();
    putBase();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    const before = JSON.stringify(podTemplate());
    putAdapter();
    await serve();
    cluster.delete(MODEL, `${namespace}/sql`);
    await pollUntil(async () => (await nestedNames()).length === 0, 'gone');
    expect(JSON.stringify(podTemplate())).to.equal(before);
  });

  it('is served as it was until its new source is downloaded, also while that is refused', async () => {
    putClaim();
    putBase();
    putAdapter();
    await serve();
    const [before] = await nestedNames();
    const change = (huggingFace: object) =>
      putAdapter({
        model: { id: 'acme/sql', source: { huggingFace } },
        pricing: { perMillionInputTokens: '5' },
      });
    change({ repo: 'acme/sql-lora-2', tokenSecret: { name: 'missing', key: 'token' } });
    await until('SecretNotFound', 'Accepted');
    change({ repo: 'acme/sql-lora-2' });
    await until('Downloading');
    // What is no matter of files holds at once.
    await pollUntil(
      async () =>
        (await readDeployment(stack.redis, namespace, 'sql'))!.pricing.perMillionInputTokens === 5_000_000,
      'the new price',
    );
    expect(await nestedNames()).to.deep.equal([before]);
    expect(entry()).to.match(/^sql-lora-[0-9a-f]{16}$/);
    await download();
    await pollUntil(async () => (await nestedNames())[0] !== before, 'the new source');
    expect(entry()).to.match(/^sql-lora-2-/);
  });

  it('costs few calls while it is new, and none of its own at rest', async () => {
    putClaim();
    putBase();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the base');
    putPod();
    calls.length = 0;
    putAdapter();
    await serve();
    await report({ ready: true, adapter: await engineName() });
    await until('Loaded');
    const reads = () => calls.filter((call) => /^(find|list|get) (Job|PersistentVolumeClaim|Pod)/.test(call));
    expect(
      reads().filter((call) => call.endsWith('/sql-prefetch')),
      String(calls),
    ).to.have.length.at.most(3);
    expect(reads().length, String(calls)).to.be.at.most(10);
    calls.length = 0;
    // Every event of the base's pods has its adapters looked at.
    putPod({ annotations: { seen: 'again' } });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(reads().filter((call) => call !== `find PersistentVolumeClaim ${namespace}/models`)).to.deep.equal(
      [],
    );
    expect(reads().length).to.be.at.most(1);
  });

  it('is served on where its base gets a claim that is missing, and none of their pods is changed', async () => {
    putClaim();
    putBase();
    putAdapter();
    await serve();
    await pollUntil(() => engineArgs().includes('--enable-lora'), 'the flags');
    const before = JSON.stringify(podTemplate());
    putBase({ adapters: { claimName: 'missing' } });
    await until('ClaimNotFound', 'Accepted', 'chat');
    await until('ClaimNotFound', 'Accepted');
    expect(await nestedNames()).to.have.length(1);
    expect(JSON.stringify(podTemplate())).to.equal(before);
  });

  it('is dropped by a base that can no longer serve it, whose pods are then as its spec says', async () => {
    putClaim();
    putBase();
    putAdapter();
    await serve();
    putBase({ adapters: undefined });
    await until('NotAccepted');
    await until('BaseNotSupported', 'Accepted');
    await pollUntil(() => !engineArgs().includes('--enable-lora'), 'a base without flags');
    expect(JSON.stringify(podTemplate())).not.to.include('berth-adapters');
    await pollUntil(
      () =>
        (cluster.store(RESOURCES.Service).get(`${namespace}/sql`) as Wire<V1Service>).spec!.selector![
          'berth.dev/deployment'
        ] === 'sql',
      'a Service without pods',
    );
  });

  it('is refused without its base, and for a base that cannot serve it, or whose claim cannot be shared', async () => {
    putAdapter();
    await until('BaseNotFound', 'Accepted');
    putBase({ adapters: undefined });
    await until('BaseNotSupported', 'Accepted');
    putBase({}, { scaling: { min: 0, max: 2 } });
    await pollUntil(
      () => conditionOf('sql', 'Accepted')!.message.includes('scale to zero'),
      'refused for its scaling',
    );
    putClaim('ReadWriteOnce');
    putBase();
    await until('ClaimNotShared', 'Accepted');
    await until('ClaimNotShared', 'Accepted', 'chat');
    expect(conditionOf('sql', 'AdapterReady')).to.include({ status: 'False', reason: 'NotAccepted' });
    // The base goes on as it was before.
    expect(engineArgs()).not.to.include('--enable-lora');
    expect(cluster.store(RESOURCES.Job).size).to.equal(0);
  });

  it('leaves nothing when it is deleted', async () => {
    putClaim();
    putBase();
    putAdapter();
    await serve();
    cluster.delete(MODEL, `${namespace}/sql`);
    await pollUntil(() => !cluster.store(MODEL).has(`${namespace}/sql`), 'its end');
    await pollUntil(async () => (await nestedNames()).length === 0, 'the base without it');
    expect(await readHost(stack.redis, 'sql--team-a.example.test')).to.equal(null);
  });
});
