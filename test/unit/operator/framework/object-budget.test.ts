import { getHeapStatistics } from 'node:v8';
import { expect } from 'chai';
import type { KubeObject } from '../../../../kube/object.ts';
import { ObjectBudget } from '../../../../operator/framework/object-budget.ts';

const keep = <T>(object: T): T => object;
const model = (namespace: string, name: string, spec: object, more: object = {}): KubeObject => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name, namespace, uid: name, resourceVersion: '1', ...more },
  spec,
});
/** As JSON.parse makes it, which nests without recursion. */
const nest = (depth: number): object => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const text = (bytes: number) => ({ value: 'x'.repeat(bytes) });
const MIB = 1024 * 1024;

describe("the operator's memory for what namespaces hold", () => {
  it('keeps an object as it is, but for what is left out', () => {
    const object = model('team-a', 'chat', { kind: 'LLM' });
    expect(new ObjectBudget().admit(object, ({ spec: _, ...rest }) => rest as KubeObject)).to.deep.equal({
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: { ...object.metadata, managedFields: undefined },
    });
  });

  for (const [what, spec] of [
    ['too large', text(MIB)],
    ['made of very many values', { list: Array.from({ length: 20_000 }, () => ({})) }],
    ['nested too deep', nest(9_900)],
  ] as const)
    it(`keeps of one that is ${what} what it is called, and why`, () => {
      const more = {
        annotations: { note: 'x'.repeat(1_000) },
        labels: { 'berth.dev/deployment': 'chat', other: 'label' },
        finalizers: [
          'berth.dev/cleanup',
          ...Array.from({ length: 100 }, (_, i) => `example.com/${'x'.repeat(50)}${i}`),
        ],
      };
      const kept = new ObjectBudget().admit(model('team-a', 'chat', spec, more), keep)!;
      expect(kept.spec).to.match(/larger than 512 KiB or nested too deeply/);
      expect(kept.metadata).to.deep.equal({
        name: 'chat',
        namespace: 'team-a',
        uid: 'chat',
        resourceVersion: '1',
        finalizers: ['berth.dev/cleanup'],
        ownerReferences: undefined,
        labels: { 'berth.dev/deployment': 'chat' },
      });
    });

  it('keeps the finalizers of others, and owners of the length that they have', () => {
    const owner = { apiVersion: 'v1', kind: 'Thing', name: 'one', uid: 'u' };
    const more = {
      finalizers: ['berth.dev/cleanup', 'example.com/theirs'],
      ownerReferences: [{ ...owner, name: 'x'.repeat(2_000) }, owner],
    };
    const kept = new ObjectBudget().admit(model('team-a', 'chat', text(MIB), more), keep)!;
    expect(kept.metadata.finalizers).to.deep.equal(more.finalizers);
    expect(kept.metadata.ownerReferences).to.deep.equal([owner]);
  });

  it('counts what it keeps of those that it does not keep', () => {
    const budget = new ObjectBudget(3 * MIB);
    const status = text(60_000);
    const admit = (name: string, bytes: number) =>
      budget.admit({ ...model('evil', name, text(bytes)), status }, keep);
    for (let i = 0; i < 60; i++) admit(`large${i}`, MIB);
    const other = model('evil', 'small', text(100));
    expect(budget.admit(other, keep)?.spec, 'more').to.be.a('string');
    for (let i = 0; i < 60; i++) budget.release(model('evil', `large${i}`, {}));
    expect(budget.admit(other, keep)?.spec, 'after their deletion').to.be.an('object');
  });

  it('leaves out what somebody wrote at length in the name of the operator', () => {
    const fields = { manager: 'berth-operator', operation: 'Apply', fieldsV1: nest(9_900) };
    const kept = new ObjectBudget().admit(model('team-a', 'chat', {}, { managedFields: [fields] }), keep)!;
    expect(kept.metadata.managedFields).to.deep.equal([]);
  });

  it('gives no namespace all of it, and gives back what is deleted or becomes smaller', () => {
    const budget = new ObjectBudget(3 * MIB);
    const isKept = (namespace: string, name: string, bytes: number) =>
      typeof budget.admit(model(namespace, name, text(bytes)), keep)?.spec === 'object';
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    const kept = names.filter((name) => isKept('evil', name, 200_000));
    expect(kept).to.have.length(10);
    expect(isKept('good', 'chat', 200_000), 'another namespace').to.equal(true);
    expect(isKept('evil', 'm0', 100_000), 'a smaller one').to.equal(true);
    for (const name of ['m1', 'm2']) budget.release(model('evil', name, {}));
    expect(isKept('evil', 'm19', 200_000), 'after a deletion').to.equal(true);
  });

  it('keeps nothing of what is new where a namespace has too many even for their names, so that others have room', () => {
    const budget = new ObjectBudget(3 * MIB);
    const admit = (namespace: string, name: string) => budget.admit(model(namespace, name, {}), keep);
    const names = Array.from({ length: 3_000 }, (_, i) => `m${i}`);
    const kept = names.filter((name) => admit('evil', name) !== undefined);
    expect(kept.length).to.be.within(100, 2_000);
    expect(admit('evil', kept.at(-1)!)?.spec, 'one that is known').to.be.a('string');
    expect(admit('good', 'chat')?.spec, 'another namespace').to.be.an('object');
    for (const name of kept) budget.release(model('evil', name, {}));
    expect(admit('evil', names.at(-1)!)?.spec, 'after their deletion').to.be.an('object');
  });

  it('is 60 % of the heap, of which a namespace has at most twice what it leaves', () => {
    const budget = new ObjectBudget();
    const bytes = 500_000;
    const spec = text(bytes);
    let kept = 0;
    while (typeof budget.admit(model('evil', `m${kept}`, spec), keep)?.spec === 'object') kept++;
    const share = (0.6 * getHeapStatistics().heap_size_limit * 2) / 3;
    expect((kept * bytes) / share).to.be.within(0.95, 1);
  });
});
