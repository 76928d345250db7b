/** The recorder of specs against the API server of `make run`. */
import { expect } from 'chai';
import { startGarbageCollector } from '../../../kube/memory/garbage-collector.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { passSecond, pollUntil } from '../../support/poll.ts';
import { type MemoryTarget, setConditions, startMemoryTarget } from '../cli/memory-target.ts';
import { type RecordedSpecs, recordSpecs } from './recorded-specs.ts';

const MODELS = 'modeldeployments.berth.dev';
const REVISIONS = 'controllerrevisions.apps';

describe('the recorder of specs', function () {
  this.timeout(60_000);
  let target: MemoryTarget;
  let specs: RecordedSpecs;
  beforeEach(async () => {
    target = await startMemoryTarget();
    specs = recordSpecs(target);
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
    // Kubernetes does not order writers of the same second.
    if (manager !== 'kubectl') await passSecond();
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
      .to.match(/^chat-[0-9a-f]{10}$/)
      .and.not.equal(first!.metadata.name);
  });

  it('writes nothing for a status, a size, a restart, or another start of the operator', async () => {
    setConditions(target, MODELS, 'chat', { observedGeneration: 1, conditions: [{ type: 'Ready' }] });
    await change({ replicas: 3 });
    await change({ replicas: null, scaling: { min: 0, max: 9 } });
    await change({ paused: true, rollout: { revision: 'restarted' } });
    const version = target.api.store.version;
    specs = recordSpecs(target);
    await specs.record('chat');
    expect(show()).to.deep.equal(['1: 1']);
    expect(target.api.store.version).to.equal(version);
  });

  it('gives a spec of before the next number', async () => {
    await change({ concurrency: 2 });
    await change({ concurrency: 1 }, 'helm');
    expect(show()).to.deep.equal(['2: 2', '3: 1']);
    expect(list()[1]!.metadata.annotations!['berth.dev/changed-by']).to.equal('helm');
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
      create('chat');
      await specs.record('chat');
      await pollUntil(() => list().length === 1);
      expect(show()).to.deep.equal(['1: 1']);
    } finally {
      stop();
    }
  });
});
