import { expect } from 'chai';
import { jsonPatch, mergePatch, strategicMergePatch } from '../../../../kube/memory/patches.ts';
import { listTypesOf } from '../../../../kube/memory/resource-type.ts';

const types = listTypesOf({ schema: undefined });

describe('patches of the memory API server', () => {
  it('merges maps, replaces lists and removes what is null', () => {
    const target = { a: { b: 1, c: 2 }, list: [1, 2] };
    expect(mergePatch(target, { a: { b: null, d: 3 }, list: [3] })).to.deep.equal({
      a: { c: 2, d: 3 },
      list: [3],
    });
  });

  it('follows the operations of a JSON patch', () => {
    const patch = [
      { op: 'test', path: '/a', value: 1 },
      { op: 'add', path: '/list/1', value: 'x' },
      { op: 'replace', path: '/a', value: 2 },
      { op: 'remove', path: '/b~1c' },
      { op: 'copy', from: '/a', path: '/d' },
    ];
    expect(jsonPatch({ a: 1, 'b/c': 1, list: ['p', 'q'] }, patch)).to.deep.equal({
      a: 2,
      d: 2,
      list: ['p', 'x', 'q'],
    });
  });

  for (const [what, patch] of [
    ['a test that fails', [{ op: 'test', path: '/a', value: 2 }]],
    ['a path that is not there', [{ op: 'remove', path: '/x' }]],
  ] as const)
    it(`refuses a JSON patch with ${what}`, () => {
      expect(() => jsonPatch({ a: 1 }, patch)).to.throw(/rejected/);
    });

  it('merges lists of Kubernetes’ own kinds by their keys, and deletes items that are named', () => {
    const target = { spec: { containers: [{ name: 'a', image: '1' }, { name: 'b' }], args: [1] } };
    const patch = {
      spec: {
        $setElementOrder: [],
        containers: [{ name: 'a', image: '2' }, { name: 'b', $patch: 'delete' }, { name: 'c' }],
        args: [2],
      },
    };
    expect(strategicMergePatch(target, patch, types)).to.deep.equal({
      spec: { containers: [{ name: 'a', image: '2' }, { name: 'c' }], args: [2] },
    });
  });
});
