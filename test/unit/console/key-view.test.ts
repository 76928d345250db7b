import { expect } from 'chai';
import { findCreator } from '../../../console/server/views/key.ts';

describe('who made a key', () => {
  const managedFields = [
    { manager: 'berth-operator-status', subresource: 'status', time: '2026-11-20T10:00:00Z' },
    { manager: 'kubectl-edit', time: '2026-11-20T12:00:00Z' },
    { manager: 'kubectl-create', time: '2026-11-20T10:00:00Z' },
  ];

  it('is whom the console noted', () => {
    const annotations = { 'berth.dev/created-by': 'anna@example.com' };
    expect(findCreator({ annotations, managedFields })).to.deep.equal({
      kind: 'user',
      name: 'anna@example.com',
    });
  });

  it('is else the tool that wrote it first', () => {
    expect(findCreator({ managedFields })).to.deep.equal({ kind: 'tool', name: 'kubectl-create' });
  });

  it('is not known of an object that says neither', () => {
    expect(findCreator({})).to.equal(null);
    expect(findCreator({ managedFields: [{ subresource: 'status', manager: 'x' }] })).to.equal(null);
  });
});
