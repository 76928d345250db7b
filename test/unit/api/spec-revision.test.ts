/** What a revision of a spec holds, and what a rollback restores. */
import { expect } from 'chai';
import { describeRestart } from '../../../api/restart.ts';
import { findSourceOfTruth } from '../../../api/source-of-truth.ts';
import { listDifferences } from '../../../api/spec-difference.ts';
import { describeHistory } from '../../../api/spec-history.ts';
import {
  findPrevious,
  isSameSpec,
  readRevision,
  restoreSpec,
  type Spec,
  type SpecRevision,
  specVersion,
} from '../../../api/spec-revision.ts';

const SPEC: Spec = { kind: 'LLM', model: { id: 'qwen' }, engine: { preset: 'vllm', args: ['qwen'] } };
const revision = (number: number, spec: Spec): SpecRevision => ({
  name: `chat-${number}`,
  number,
  at: '2026-11-30T10:00:00Z',
  manager: 'kubectl',
  spec,
});

describe('a revision of a spec', () => {
  it('is the same whatever the size, restarts and defaults', () => {
    const others: Spec[] = [
      { ...SPEC, replicas: 3 },
      { ...SPEC, paused: true },
      { ...SPEC, scaling: { min: 0, max: 8 } },
      { ...SPEC, traffic: [{ deployment: 'other', weight: 1 }] },
      { ...SPEC, rollout: { revision: 'restarted-2026-11-30T10:00:00Z' } },
      { ...SPEC, resilience: { continueStreams: false }, rollout: { maxSurge: 0 } },
    ];
    for (const other of others) {
      expect(isSameSpec(SPEC, other), JSON.stringify(other)).to.equal(true);
      expect(specVersion(other)).to.equal(specVersion(SPEC));
    }
    expect(specVersion({ engine: SPEC.engine, model: SPEC.model, kind: SPEC.kind })).to.equal(
      specVersion(SPEC),
    );
    expect(isSameSpec(SPEC, { ...SPEC, concurrency: 4 })).to.equal(false);
    expect(isSameSpec(SPEC, { ...SPEC, rollout: { maxSurge: 1 } })).to.equal(false);
  });

  it('is restored in the present size, and restarts nothing for an old restart', () => {
    const now = {
      ...SPEC,
      scaling: { min: 1, max: 8 },
      paused: true,
      traffic: [1],
      rollout: { revision: 'second' },
    };
    const old = {
      ...SPEC,
      concurrency: 2,
      replicas: 5,
      traffic: [2],
      rollout: { maxSurge: 1, revision: 'first' },
    };
    expect(restoreSpec(now, old)).to.deep.equal({
      ...SPEC,
      concurrency: 2,
      scaling: { min: 1, max: 8 },
      paused: true,
      traffic: [1],
      rollout: { maxSurge: 1, revision: 'second' },
    });
    expect(restoreSpec({ ...SPEC, concurrency: 3 }, SPEC)).to.deep.equal(SPEC);
  });

  it("is read from its owner's ControllerRevision only", () => {
    const object = {
      metadata: {
        name: 'chat-1',
        annotations: { 'berth.dev/changed-by': '', 'berth.dev/changed-at': '2026-11-30T10:00:00Z' },
        ownerReferences: [{ uid: 'u1', controller: true }],
      },
      revision: 4,
      data: { spec: SPEC },
    };
    expect(readRevision(object, 'u1')).to.deep.equal({ ...revision(4, SPEC), name: 'chat-1', manager: null });
    expect(readRevision(object, 'u2')).to.equal(undefined);
    expect(readRevision({ ...object, data: { spec: 'none' } }, 'u1')).to.equal(undefined);
  });

  it('is read without defaults, which an earlier version may have stored', () => {
    const metadata = { name: 'chat-1', ownerReferences: [{ uid: 'u1', controller: true }] };
    const spec = { ...SPEC, resilience: { continueStreams: false } };
    expect(readRevision({ metadata, revision: 1, data: { spec } }, 'u1')!.spec).to.deep.equal(SPEC);
  });

  it('is gone back to by default where it differs from the spec of now', () => {
    const old = { ...SPEC, concurrency: 2 };
    const revisions = [revision(1, old), revision(2, SPEC)];
    expect(findPrevious(revisions, SPEC)?.number).to.equal(1);
    // Not recorded yet.
    expect(findPrevious(revisions, { ...SPEC, concurrency: 9 })?.number).to.equal(2);
    expect(findPrevious([revision(1, SPEC)], { ...SPEC, replicas: 2 })).to.equal(undefined);
  });

  it('is shown with what it changed, and what going back changes now', () => {
    const entries = describeHistory({ ...SPEC, concurrency: 3 }, [
      revision(1, SPEC),
      revision(2, { ...SPEC, concurrency: 2 }),
    ]);
    expect(entries.map(({ revision, isCurrent }) => [revision, isCurrent])).to.deep.equal([
      [2, false],
      [1, false],
    ]);
    expect(entries[0]!.change!.changes).to.deep.equal([{ field: 'concurrency', before: null, after: '2' }]);
    expect(entries[0]!.rollback.changes).to.deep.equal([{ field: 'concurrency', before: '3', after: '2' }]);
    expect(entries[1]!.change).to.equal(null);
  });

  it('is compared with the one before it, also after a rollback', () => {
    const bobs = { ...SPEC, concurrency: 2 };
    const carols = { ...bobs, storage: { input: { retention: '1h' } } };
    const revisions = [revision(1, SPEC), revision(2, bobs), revision(3, carols), revision(4, bobs)];
    const entries = describeHistory(bobs, revisions);
    expect(entries.map(({ isCurrent, change }) => [isCurrent, change?.changes[0]?.field])).to.deep.equal([
      [true, 'storage'],
      [false, 'storage'],
      [false, 'concurrency'],
      [false, undefined],
    ]);
    expect(entries[2]!.rollback.changes).to.deep.equal([]);
  });
});

describe('the difference of two specs', () => {
  const env = (...entries: [string, string][]) => ({
    ...SPEC,
    engine: { preset: 'vllm', env: entries.map(([name, value]) => ({ name, value })) },
  });

  it('names fields, and items of lists that have names', () => {
    const { changes } = listDifferences(env(['A', '1'], ['B', '2']), env(['A', '9'], ['C', '3']));
    expect(changes).to.deep.equal([
      { field: 'engine.env[A].value', before: '"1"', after: '"9"' },
      { field: 'engine.env[B]', before: '{"name":"B","value":"2"}', after: null },
      { field: 'engine.env[C]', before: null, after: '{"name":"C","value":"3"}' },
    ]);
    const [order] = listDifferences(env(['A', '1'], ['B', '2']), env(['B', '2'], ['A', '1'])).changes;
    expect(order?.field).to.equal('engine.env');
  });

  it('is bounded, and shows of long texts the part that differs', () => {
    const text = (end: string) => ({ ...SPEC, engine: { preset: 'vllm', args: ['x'.repeat(50_000) + end] } });
    const [change] = listDifferences(text('old'), text('new')).changes;
    expect(change!.before)
      .to.match(/^…x+old/)
      .and.have.length.below(310);
    expect(change!.after).to.match(/^…x+new/);
    const many = (value: string) =>
      env(...Array.from({ length: 100 }, (_, index): [string, string] => [`V${index}`, value]));
    const { changes, more } = listDifferences(many('1'), many('2'));
    expect([changes.length, more]).to.deep.equal([40, 60]);
  });
});

describe('the source of truth of a deployment', () => {
  it('is the tool that wrote its spec or marked it', () => {
    const by = (manager: string, fieldsV1: object = { 'f:spec': {} }) =>
      findSourceOfTruth({ managedFields: [{ manager, fieldsV1 }] });
    expect(by('argocd-controller')).to.equal('Argo CD');
    expect(by('kustomize-controller')).to.equal('Flux');
    expect(by('helm')).to.equal('Helm');
    expect(by('kubectl')).to.equal(null);
    expect(by('argocd-controller', { 'f:metadata': {} })).to.equal(null);
    const marked = { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } };
    expect(findSourceOfTruth(marked)).to.equal('Argo CD');
    expect(findSourceOfTruth({})).to.equal(null);
  });
});

describe('a restart of all replicas', () => {
  const now = new Date('2026-11-30T10:00:00Z');

  it('is a rollout by a new rollout.revision', () => {
    expect(describeRestart('chat', { paused: false }, now)).to.deep.equal({
      patch: { spec: { rollout: { revision: 'restarted-2026-11-30T10:00:00.000Z' } } },
    });
  });

  it('is refused where there are none', () => {
    expect(describeRestart('chat', { paused: true }, now).refusal).to.include('resume');
    expect(describeRestart('chat', { paused: false, replicas: 0 }, now).refusal).to.include('replicas is 0');
    const adapter = { paused: false, adapterOf: { deployment: 'base' } };
    expect(describeRestart('sql', adapter, now).refusal).to.include('base');
  });
});
