/** History, rollback and restart against the API server of `make run`, without an operator. */
import { expect } from 'chai';
import { printHistory, rollBack } from '../../../cli/deployment/history.ts';
import { restart } from '../../../cli/deployment/restart.ts';
import { readCommandLine } from '../../../cli/framework/command-line.ts';
import type { Failure } from '../../../cli/framework/failure.ts';
import { createSecondHand, type RecordedSpecs, recordSpecs } from '../operator/recorded-specs.ts';
import { type MemoryTarget, recordOutput, startMemoryTarget } from './memory-target.ts';

const MODELS = 'modeldeployments.berth.dev';
const CHAT = { namespace: 'team', name: 'chat' };

const refusal = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => {
      throw new Error('nothing was refused');
    },
    (error: Failure) => error,
  );

describe('berth history, rollback and restart', function () {
  this.timeout(60_000);
  let target: MemoryTarget;
  let specs: RecordedSpecs;
  const { now, passSecond } = createSecondHand();
  beforeEach(async () => {
    target = await startMemoryTarget(now);
    specs = recordSpecs(target, { now });
    const spec = { kind: 'LLM', model: { id: 'qwen' }, engine: { preset: 'simulator' } };
    const metadata = { ...CHAT };
    const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', metadata, spec };
    target.api.create(MODELS, object, { manager: 'kubectl' });
    await specs.record('chat');
    await change({ concurrency: 4 }, 'berth-console:anna');
  });
  afterEach(() => target.close());

  const change = async (spec: object, manager = 'kubectl') => {
    passSecond();
    target.api.patch(MODELS, CHAT, { spec }, { type: 'merge', manager });
    await specs.record('chat');
  };
  const readSpec = () => target.api.get(MODELS, CHAT).spec as Record<string, unknown>;
  const run = (name: 'rollback' | 'restart', args: string[], json = false) => {
    const line = readCommandLine([name, ...args], '1');
    if (line.kind !== 'run') throw new Error('a command runs');
    const { output, printed } = recordOutput(json);
    const act = name === 'rollback' ? rollBack : restart;
    return act(target, line.invocation, output).then(() => printed);
  };

  it('lists the specs, with who changed what', async () => {
    const { output, printed } = recordOutput();
    await printHistory(target, 'chat', output);
    expect(printed.out).to.match(
      /^2 {2}20\S+ {2}berth-console:anna {2}\(current\)\n {2}concurrency: not set -> 4\n\n1 {2}20\S+ {2}kubectl\n {2}the oldest/,
    );
    const json = recordOutput(true);
    await printHistory(target, 'chat', json.output);
    const [newest] = JSON.parse(json.printed.out) as {
      revision: number;
      current: boolean;
      manager: string;
    }[];
    expect(newest).to.include({ revision: 2, current: true, manager: 'berth-console:anna' });
  });

  it('goes back to the spec before, in the present size, and is recorded', async () => {
    await change({ replicas: 3, paused: true });
    const { out } = await run('rollback', ['chat']);
    expect(out).to.include('revision 1 again').and.include('concurrency: 4 -> not set');
    expect(readSpec()).to.include({ replicas: 3, paused: true }).and.not.have.property('concurrency');
    passSecond();
    await specs.record('chat');
    const { output, printed } = recordOutput(true);
    await printHistory(target, 'chat', output);
    expect((JSON.parse(printed.out) as { revision: number }[]).map(({ revision }) => revision)).to.deep.equal(
      [3, 2, 1],
    );
  });

  it('goes back to a revision that is named, and says which there are', async () => {
    await change({ concurrency: 8 });
    const { out } = await run('rollback', ['chat', '--to', '2'], true);
    expect(JSON.parse(out)).to.deep.equal({
      name: 'chat',
      namespace: 'team',
      revision: 2,
      changes: [{ field: 'concurrency', before: '8', after: '4' }],
      more: 0,
    });
    const missing = await refusal(run('rollback', ['chat', '--to', '9']));
    expect([missing.kind, missing.message]).to.deep.equal([
      'not_found',
      'revision 9 of chat is not kept; there are 1, 2, 3',
    ]);
    expect((await refusal(run('rollback', ['chat', '--to', 'last']))).kind).to.equal('usage');
    expect((await refusal(run('rollback', ['chat', '--to', '2']))).message).to.include('already');
  });

  it('leaves a spec that is changed meanwhile, but not one whose status or size is', async () => {
    const change = (spec: object) =>
      target.api.patch(MODELS, CHAT, { spec }, { type: 'merge', manager: 'someone' });
    const { update } = target.client;
    let meanwhile = () => change({ concurrency: 16 });
    const racing = {
      ...target.client,
      update: ((...call: Parameters<typeof update>) => {
        meanwhile();
        meanwhile = () => target.api.get(MODELS, CHAT);
        return update(...call);
      }) as typeof update,
    };
    const { output } = recordOutput();
    const line = readCommandLine(['rollback', 'chat'], '1');
    if (line.kind !== 'run') throw new Error('a command runs');
    const refused = await refusal(rollBack({ ...target, client: racing }, line.invocation, output));
    expect(refused.message).to.include('was changed meanwhile');
    expect(readSpec().concurrency).to.equal(16);
    meanwhile = () => change({ replicas: 7 });
    await rollBack({ ...target, client: racing }, line.invocation, output);
    expect(readSpec()).to.include({ replicas: 7, concurrency: 4 });
  });

  it('passes on why the API server refuses a spec of before', async () => {
    const [first] = target.api
      .list('controllerrevisions.apps', 'team')
      .filter((object) => (object as unknown as { revision: number }).revision === 1);
    const spec = { kind: 'LLM', model: { id: 'qwen' }, engine: { preset: 'simulator' }, formerField: 1 };
    target.api.store.put('controllerrevisions.apps', { ...first!, data: { spec } });
    const error = await refusal(run('rollback', ['chat', '--to', '1']));
    expect(error.message).to.include('unknown field "spec.formerField"');
    expect(readSpec().concurrency).to.equal(4);
  });

  it('warns of a tool that will put its own spec back', async () => {
    target.api.patch(
      MODELS,
      CHAT,
      { metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } } },
      { type: 'merge', manager: 'argocd-controller' },
    );
    expect((await run('rollback', ['chat'])).error).to.include('Argo CD manages chat');
    expect((await run('restart', ['chat'])).error).to.include('Argo CD manages chat');
  });

  it('restarts all replicas by a rollout', async () => {
    await run('restart', ['chat']);
    expect((readSpec().rollout as { revision: string }).revision).to.match(/^restarted-20/);
    await change({ paused: true });
    expect((await refusal(run('restart', ['chat']))).message).to.include('resume');
    await change({ paused: false, replicas: 0 });
    expect((await refusal(run('restart', ['chat']))).message).to.include('spec.replicas is 0');
  });

  it('sends whoever restarts an adapter to its base', async () => {
    target.api.store.put(MODELS, {
      ...target.api.get(MODELS, CHAT),
      metadata: { ...CHAT, name: 'sql' },
      spec: { kind: 'LLM', model: { id: 'sql' }, adapterOf: { deployment: 'chat' } },
    });
    for (const args of [['sql'], ['sql', '--replica', 'chat-1']])
      expect((await refusal(run('restart', args))).message).to.include('restart its base, chat');
  });

  describe('a replica', () => {
    const addPod = (name: string, ready: 'True' | 'False', deployment = 'chat') =>
      target.api.store.put('pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name,
          namespace: 'team',
          uid: name,
          labels: { 'berth.dev/deployment': deployment, 'app.kubernetes.io/component': 'model' },
        },
        spec: { nodeName: 'node', terminationGracePeriodSeconds: 180, containers: [{ name: 'engine' }] },
        status: { conditions: [{ type: 'Ready', status: ready }] },
      });
    const readPod = (name: string) => target.api.get('pods', { namespace: 'team', name });
    beforeEach(() =>
      target.api.create('poddisruptionbudgets.policy', {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'chat', namespace: 'team' },
        spec: {
          maxUnavailable: 1,
          unhealthyPodEvictionPolicy: 'AlwaysAllow',
          selector: {
            matchLabels: { 'berth.dev/deployment': 'chat', 'app.kubernetes.io/component': 'model' },
          },
        },
      }),
    );

    it('is evicted, with the whole time to finish its requests', async () => {
      addPod('chat-1', 'True');
      const { out } = await run('restart', ['chat', '--replica', 'chat-1'], true);
      expect(JSON.parse(out)).to.deep.equal({ name: 'chat', namespace: 'team', replica: 'chat-1' });
      expect(readPod('chat-1').metadata.deletionGracePeriodSeconds).to.equal(180);
    });

    it('stays while its disruption budget is used up, unless it is the broken one', async () => {
      addPod('chat-1', 'True');
      addPod('chat-2', 'False');
      const { kind, message } = await refusal(run('restart', ['chat', '--replica', 'chat-1']));
      expect(kind).to.equal('not_ready');
      expect(message).to.equal(
        'chat-1 stays: its disruption budget lets no replica go now. Try again once all replicas are ready.',
      );
      expect(readPod('chat-1').metadata.deletionTimestamp).to.equal(undefined);
      await run('restart', ['chat', '--replica', 'chat-2']);
      expect(readPod('chat-2').metadata.deletionTimestamp).not.to.equal(undefined);
    });

    it('of another deployment is none', async () => {
      addPod('chat-1', 'True');
      addPod('other-1', 'True', 'other');
      const { message } = await refusal(run('restart', ['chat', '--replica', 'other-1']));
      expect(message).to.equal('chat has no replica other-1; its replicas: chat-1');
    });
  });
});
