import { expect } from 'chai';
import { describeChanges } from '../../../console/server/views/change.ts';
import { describeMembers } from '../../../console/server/views/member.ts';
import { describeRole } from '../../../console/web/members/roles.ts';

describe('a role binding', () => {
  it('is an entry for each of its subjects', () => {
    const binding = {
      metadata: { name: 'berth-team' },
      roleRef: { name: 'berth-member' },
      subjects: [
        { kind: 'User', name: 'anna@example.com' },
        { kind: 'ServiceAccount', name: 'bot', namespace: 'team' },
      ],
    };
    expect(describeMembers(binding)).to.deep.equal([
      { kind: 'User', name: 'anna@example.com', role: 'berth-member', binding: 'berth-team' },
      { kind: 'ServiceAccount', name: 'team/bot', role: 'berth-member', binding: 'berth-team' },
    ]);
  });

  it('may have no subjects', () => {
    expect(describeMembers({ metadata: { name: 'b' }, roleRef: { name: 'view' } })).to.deep.equal([]);
  });

  it('says what its role means for Berth, whatever the release is called', () => {
    expect(describeRole('prod-berth-view')).to.equal('Read everything of Berth');
    expect(describeRole('admin')).to.match(/^Deploy/);
    expect(describeRole('viewer')).to.equal('What its rules say');
  });
});

describe('the changes of an object', () => {
  const describe_ = (managedFields: unknown) => {
    const metadata = { name: 'chat', creationTimestamp: '2026-01-01T00:00:00Z', managedFields };
    return describeChanges({ metadata });
  };

  it('name the program, the time and the fields', () => {
    const entry = {
      manager: 'kubectl',
      time: '2026-01-02T00:00:00Z',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    };
    expect(describe_([entry])).to.deep.equal([
      {
        at: '2026-01-02T00:00:00Z',
        manager: 'kubectl',
        object: 'chat',
        isCreation: false,
        fields: ['spec.replicas'],
      },
    ]);
  });

  it('tell a creation, and leave out statuses, finalizers and what cannot be read', () => {
    const created = { manager: 'berth-console', time: '2026-01-01T00:00:01Z', fieldsV1: { 'f:spec': {} } };
    const finalizer = {
      ...created,
      manager: 'berth-operator',
      fieldsV1: { 'f:metadata': { 'f:finalizers': {} } },
    };
    const status = { ...created, manager: 'berth-operator', subresource: 'status' };
    expect(
      describe_([created, finalizer, status, { manager: 1 }]).map(({ manager, isCreation }) => [
        manager,
        isCreation,
      ]),
    ).to.deep.equal([['berth-console', true]]);
    expect(describe_('nothing')).to.deep.equal([]);
  });
});
