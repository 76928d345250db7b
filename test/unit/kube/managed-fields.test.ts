import { expect } from 'chai';
import { isAsApplied, type OwnedFields, ownedFields, ownsAll } from '../../../kube/managed-fields.ts';

const containers: OwnedFields = {
  'f:containers': {
    'k:{"name":"a"}': {
      '.': {},
      'f:name': {},
      'f:image': {},
      'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
      'f:command': {},
    },
  },
  'f:finalizers': { 'v:"x"': {} },
};

describe('What a field manager owns', () => {
  it('is read of its own applies, of the object and of its status apart', () => {
    const entry = (manager: string, operation: string, fieldsV1: object, subresource?: string) => ({
      manager,
      operation,
      fieldsV1,
      subresource,
    });
    const metadata = {
      name: 'x',
      managedFields: [
        entry('mine', 'Update', { 'f:updated': {} }),
        entry('other', 'Apply', { 'f:other': {} }),
        entry('mine', 'Apply', { 'f:status': {} }, 'status'),
        entry('mine', 'Apply', { 'f:spec': {} }),
      ],
    };
    expect(ownedFields({ metadata }, 'mine')).to.deep.equal({ 'f:spec': {} });
    expect(ownedFields({ metadata }, 'mine', 'status')).to.deep.equal({ 'f:status': {} });
    expect(ownedFields({ metadata }, 'nobody')).to.equal(undefined);
  });

  const item = { name: 'a', image: 'i', ports: [{ containerPort: 80 }], command: ['x', 'y'] };
  const coverage: [string, unknown, boolean][] = [
    ['everything, with a key left to its default', { containers: [item], finalizers: ['x'] }, true],
    ['less than everything', { containers: [{ name: 'a' }] }, true],
    ['nulls and absent fields, which the wire does not carry', { containers: null, other: undefined }, true],
    ['a field that another has taken', { containers: [{ ...item, tty: true }] }, false],
    ['an item that is not there', { containers: [item, { name: 'b' }] }, false],
    [
      'a key of another value',
      { containers: [{ name: 'a', ports: [{ containerPort: 80, protocol: 'UDP' }] }] },
      false,
    ],
    ['a value that is not in the set', { finalizers: ['x', 'y'] }, false],
  ];
  for (const [what, wanted, expected] of coverage)
    it(`${expected ? 'covers' : 'does not cover'} ${what}`, () => {
      expect(ownsAll(wanted, containers)).to.equal(expected);
    });

  it('does not cover what a map has lost to others down to the last entry', () => {
    expect(ownsAll({ labels: { a: '1' } }, { 'f:labels': { '.': {} } })).to.equal(false);
    expect(ownsAll({ labels: {} }, { 'f:labels': { '.': {} } })).to.equal(true);
  });

  const status: OwnedFields = {
    'f:replicas': {},
    'f:selector': {},
    'f:conditions': {
      'k:{"type":"A"}': { '.': {}, 'f:type': {}, 'f:status': {} },
      'k:{"type":"B"}': { '.': {}, 'f:type': {}, 'f:status': {} },
    },
  };
  const a = { type: 'A', status: 'True' };
  const b = { type: 'B', status: 'False' };
  const live = {
    replicas: 1,
    selector: { x: [1] },
    foreign: true,
    conditions: [{ type: 'C', status: 'True' }, { ...b, note: 'of another' }, a],
  };
  const wanted = { replicas: 1, selector: { x: [1] }, conditions: [a, b] };
  const comparisons: [string, object, boolean][] = [
    ['the same, whatever others own and in whatever order', wanted, true],
    ['another number', { ...wanted, replicas: 2 }, false],
    ['another value within a whole', { ...wanted, selector: { x: [2] } }, false],
    ['a field less', { selector: wanted.selector, conditions: wanted.conditions }, false],
    ['a field more', { ...wanted, foreign: true }, false],
    ['an item less', { ...wanted, conditions: [a] }, false],
    ['an item more', { ...wanted, conditions: [a, b, { type: 'C', status: 'True' }] }, false],
    ['a changed item', { ...wanted, conditions: [a, { ...b, status: 'True' }] }, false],
  ];
  for (const [what, next, expected] of comparisons)
    it(`${expected ? 'is' : 'is not'} as applied with ${what}`, () => {
      expect(isAsApplied(next, live, status)).to.equal(expected);
    });
});
