import { expect } from 'chai';
import type { ChangesView } from '../../../console/api.ts';
import { nameFieldManager, readFieldManager } from '../../../console/server/kubernetes/field-manager.ts';
import { describeChanges } from '../../../console/server/views/change.ts';
import { describeNote } from '../../../console/server/views/event.ts';
import { describeMembers } from '../../../console/server/views/member.ts';
import { describeAuthor, describeEntry } from '../../../console/web/members/change-text.ts';
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
    expect(describeRole('prod-berth-view')).to.equal('Read-only access');
    expect(describeRole('admin')).to.match(/^Full access/);
    expect(describeRole('viewer')).to.equal('Custom role');
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
        type: 'change',
        at: '2026-01-02T00:00:00Z',
        program: 'kubectl',
        user: null,
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
      describe_([created, finalizer, status, { manager: 1 }]).map(({ program, isCreation }) => [
        program,
        isCreation,
      ]),
    ).to.deep.equal([['berth-console', true]]);
    expect(describe_('nothing')).to.deep.equal([]);
  });
});

describe('the field manager of the console', () => {
  it('names the user, within what the API server takes', () => {
    expect(nameFieldManager()).to.equal('berth-console');
    expect(nameFieldManager('anna@example.com')).to.equal('berth-console:anna@example.com');
    expect(nameFieldManager('a\u0000b\u200bc')).to.equal('berth-console:a_b_c');
    const long = nameFieldManager(`${'x'.repeat(112)}ää`);
    expect([Buffer.byteLength(long), long.slice(-2)]).to.deep.equal([128, 'xä']);
    expect(nameFieldManager('ä'.repeat(200))).to.match(/^berth-console:ä{57}$/);
  });

  it('is read back as the user, and other managers as programs', () => {
    expect(readFieldManager(nameFieldManager('anna'))).to.deep.equal({
      program: 'berth-console',
      user: 'anna',
    });
    for (const program of ['berth-console', 'kubectl', 'berth-console:'])
      expect(readFieldManager(program)).to.deep.equal({ program, user: null });
  });
});

describe('an entry of the changes', () => {
  const change = {
    type: 'change',
    at: '2026-01-02T00:00:00Z',
    program: 'berth-console',
    user: 'anna',
    kind: 'APIKey',
    object: 'shop',
    isCreation: false,
    fields: ['spec.rpm', 'spec.tpd'],
  } as const;
  const note = {
    metadata: { name: 'e', creationTimestamp: '2026-01-01T00:00:00Z' },
    involvedObject: { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', name: 'chat' },
    type: 'Warning',
    reason: 'GPUsShort',
    message: '2 GPUs are missing',
    reportingComponent: 'berth.dev/operator',
    eventTime: '2026-01-02T00:00:00.000000Z',
    series: { count: 3, lastObservedTime: '2026-01-03T00:00:00.000000Z' },
  };

  it('says who and what', () => {
    const words = (entry: ChangesView['entries'][number]) => [describeAuthor(entry), describeEntry(entry)];
    expect(words({ ...change, fields: [...change.fields] })).to.deep.equal([
      'by anna, via the console',
      'spec.rpm, spec.tpd',
    ]);
    expect(words({ ...change, user: null, program: 'kubectl', isCreation: true, fields: [] })).to.deep.equal([
      'kubectl',
      'created',
    ]);
    expect(words(describeNote(note)!)).to.deep.equal([
      'berth.dev/operator',
      'GPUsShort: 2 GPUs are missing (3 times)',
    ]);
  });

  it('is of an event about one of Berth’s objects alone', () => {
    expect(describeNote(note)).to.include({
      type: 'event',
      at: note.series.lastObservedTime,
      isWarning: true,
    });
    const involvedObject = { apiVersion: 'v1', kind: 'Pod', name: 'chat-1' };
    expect(describeNote({ ...note, involvedObject })).to.equal(undefined);
  });
});
