/** The recorder of specs against the API server of `make run`. */
import { expect } from 'chai';
import { startGarbageCollector } from '../../../kube/memory/garbage-collector.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { pollUntil } from '../../support/poll.ts';
import { type MemoryTarget, setConditions, startMemoryTarget } from '../cli/memory-target.ts';
import { createSecondHand, type RecordedSpecs, recordSpecs } from './recorded-specs.ts';

const MODELS = 'modeldeployments.berth.dev';
const REVISIONS = 'controllerrevisions.apps';

describe('the recorder of specs', function () {
  this.timeout(60_000);
  let target: MemoryTarget;
  let specs: RecordedSpecs;
  const { now, passSecond } = createSecondHand();
  beforeEach(async () => {
    target = await startMemoryTarget(now);
    specs = recordSpecs(target, { now });
    create('chat');
    await specs.record('chat');
  });
  afterEach(() => target.close());

  const create = (name: string) =>
    target.api.create(
      MODELS,
      {
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name, namespace: 'team' },
        spec: { kind: 'LLM', model: { id: 'qwen' }, engine: { preset: 'simulator' }, concurrency: 1 },
      },
      { manager: 'kubectl' },
    );
  const change = async (spec: object, manager = 'kubectl') => {
    const at = { namespace: 'team', name: 'chat' };
    passSecond();
    target.api.patch(MODELS, at, { spec }, { type: 'merge', manager });
    await specs.record('chat');
  };
  const list = (): (KubeObject & { revision: number; data: { spec: { concurrency: number } } })[] =>
    (target.api.list(REVISIONS, 'team') as ReturnType<typeof list>).sort((a, b) => a.revision - b.revision);
  const show = () => list().map(({ revision, data: { spec } }) => `${revision}: ${spec.concurrency}`);

  it('keeps each spec, with its author and time, as its deployment’s', async () => {
    await change({ concurrency: 2 }, 'berth-console:anna');
    const [first, second] = list();
    expect(show()).to.deep.equal(['1: 1', '2: 2']);
    const { annotations, ownerReferences, name } = second!.metadata;
    expect(annotations!['berth.dev/changed-by']).to.equal('berth-console:anna');
    expect(annotations!['berth.dev/changed-at']).to.match(/^20\d\d-/);
    expect(ownerReferences).to.have.length(1);
    expect(ownerReferences![0]).to.include({ kind: 'ModelDeployment', name: 'chat', controller: true });
    expect(name)
      .to.match(/^chat-[0-9a-f]{10}-2$/)
      .and.not.equal(first!.metadata.name);
  });

  it('writes nothing for a status, a size, a restart, or another start of the operator', async () => {
    setConditions(target, MODELS, 'chat', { observedGeneration: 1, conditions: [{ type: 'Ready' }] });
    await change({ replicas: 3 });
    await change({ replicas: null, scaling: { min: 0, max: 9 } });
    await change({ paused: true, rollout: { revision: 'restarted' } });
    await change({ traffic: [{ deployment: 'other', weight: 1 }] });
    const version = target.api.store.version;
    specs = recordSpecs(target, { now });
    await specs.record('chat');
    expect(show()).to.deep.equal(['1: 1']);
    expect(target.api.store.version).to.equal(version);
  });

  it('keeps a spec of before where it was, and records it again', async () => {
    await change({ concurrency: 2 });
    await change({ concurrency: 1 }, 'helm');
    expect(show()).to.deep.equal(['1: 1', '2: 2', '3: 1']);
    expect(list()[2]!.metadata.annotations!['berth.dev/changed-by']).to.equal('helm');
  });

  it('holds no default, which another version may refuse', async () => {
    await change({ concurrency: 2, resilience: { continueStreams: false } });
    expect(list()[1]!.data.spec).to.deep.equal({
      kind: 'LLM',
      model: { id: 'qwen' },
      engine: { preset: 'simulator' },
      concurrency: 2,
    });
  });

  it('names no autoscaler and no restart as the author', async () => {
    const at = { namespace: 'team', name: 'chat' };
    passSecond();
    target.api.patch(MODELS, at, { spec: { concurrency: 2 } }, { type: 'merge', manager: 'helm' });
    passSecond();
    target.api.patch(MODELS, at, { spec: { replicas: 3 } }, { type: 'merge', manager: 'keda' });
    const restart = { rollout: { revision: 'again' }, traffic: [{ deployment: 'other', weight: 1 }] };
    target.api.patch(MODELS, at, { spec: restart }, { type: 'merge', manager: 'argo-rollouts' });
    await specs.record('chat');
    expect(list()[1]!.metadata.annotations!['berth.dev/changed-by']).to.equal('helm');
  });

  it('records the last spec of a second, and looks again after it', async () => {
    await change({ concurrency: 2 });
    const at = { namespace: 'team', name: 'chat' };
    for (let concurrency = 3; concurrency < 9; concurrency++) {
      target.api.patch(MODELS, at, { spec: { concurrency } }, { type: 'merge' });
      expect(await specs.record('chat')).to.deep.equal({ requeueAfterMs: 1_000 });
    }
    expect(show()).to.deep.equal(['1: 1', '2: 2']);
    passSecond();
    expect(await specs.record('chat')).to.deep.equal({});
    expect(show()).to.deep.equal(['1: 1', '2: 2', '3: 8']);
  });

  it('makes one call for all deployments at a start, and one for each new spec', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `model-${index}`);
    for (const name of names) create(name);
    const calls: string[] = [];
    const { list: listCall, create: createCall, delete: deleteCall } = target.client;
    const client = {
      list: ((...call: Parameters<typeof listCall>) => {
        calls.push('list');
        return listCall(...call);
      }) as typeof listCall,
      create: ((...call: Parameters<typeof createCall>) => {
        calls.push('create');
        return createCall(...call);
      }) as typeof createCall,
      delete: ((...call: Parameters<typeof deleteCall>) => {
        calls.push('delete');
        return deleteCall(...call);
      }) as typeof deleteCall,
    };
    for (const watchNamespaces of [[], ['team']]) {
      for (const name of names) {
        const at = { namespace: 'team', name };
        const concurrency = watchNamespaces.length + 5;
        target.api.patch(MODELS, at, { spec: { concurrency } }, { type: 'merge' });
      }
      const first = recordSpecs(target, { now, client, watchNamespaces });
      calls.length = 0;
      await Promise.all(names.map((name) => first.record(name)));
      expect(calls.filter((call) => call === 'list')).to.have.length(1);
      expect(calls.filter((call) => call === 'create')).to.have.length(50);
      expect(calls).to.have.length(51);
      const next = recordSpecs(target, { now, client, watchNamespaces });
      calls.length = 0;
      await Promise.all(names.map((name) => next.record(name)));
      expect(calls).to.deep.equal(['list']);
    }
  });

  it('takes the next number where a name is in use', async () => {
    const other = recordSpecs(target, { now });
    await other.record('chat');
    // What the former leader wrote last.
    await change({ concurrency: 2 });
    const [, second] = list();
    const at = { namespace: 'team', name: 'chat' };
    passSecond();
    target.api.patch(MODELS, at, { spec: { concurrency: 3 } }, { type: 'merge' });
    expect(await other.record('chat')).to.deep.equal({ requeueAfterMs: 1_000 });
    passSecond();
    await other.record('chat');
    expect(show()).to.deep.equal(['1: 1', '2: 2', '3: 3']);
    // Somebody else's.
    const name = second!.metadata.name.replace(/2$/, '4');
    target.api.create(REVISIONS, {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name, namespace: 'team' },
      data: { spec: { concurrency: 0 } },
      revision: 0,
    });
    passSecond();
    target.api.patch(MODELS, at, { spec: { concurrency: 4 } }, { type: 'merge' });
    await other.record('chat');
    passSecond();
    await other.record('chat');
    expect(show()).to.deep.equal(['0: 0', '1: 1', '2: 2', '3: 3', '5: 4']);
  });

  it('keeps the last ten', async () => {
    for (let concurrency = 2; concurrency <= 12; concurrency++) await change({ concurrency });
    expect(show()).to.have.length(10);
    expect(show()[0]).to.equal('3: 3');
  });

  it('leaves the revisions of other controllers alone', async () => {
    target.api.create(REVISIONS, {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'database-1', namespace: 'team', labels: { 'berth.dev/deployment': 'chat' } },
      data: { spec: {} },
      revision: 99,
    });
    await change({ concurrency: 2 });
    expect(list().map(({ revision }) => revision)).to.deep.equal([1, 2, 99]);
  });

  it('starts at 1 for a deployment that is created again, and keeps nothing of the former one', async () => {
    const stop = startGarbageCollector(target.api);
    try {
      await change({ concurrency: 2 });
      target.api.delete(MODELS, { namespace: 'team', name: 'chat' });
      await specs.record('chat');
      passSecond();
      create('chat');
      await specs.record('chat');
      await pollUntil(() => list().length === 1);
      expect(show()).to.deep.equal(['1: 1']);
    } finally {
      stop();
    }
  });
});
