/** Who may do what in a namespace, and what changed there, as far as the signed-in user may read it. */
import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { useConsole } from './console-harness.ts';

const RBAC = 'rbac.authorization.k8s.io';

describe('a console that lists members and changes', () => {
  const harness = useConsole();

  it('says that a member may not read role bindings, and lists them for who may', async () => {
    const { namespace, token } = await harness.makeMember();
    const member = await harness.signIn(token);
    const list = () => member.call('GET', `/api/namespaces/${namespace}/members`);
    expect((await list()).body).to.deep.equal({ members: null });
    const root = `/apis/${RBAC}/v1/namespaces/${namespace}`;
    await harness.kube('POST', `${root}/roles`, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [RBAC], resources: ['rolebindings'], verbs: ['list'] }],
    });
    const [bound] = (await harness.kube('GET', `${root}/rolebindings`)).body.items;
    await harness.kube('POST', `${root}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: 'reader' },
      subjects: bound.subjects,
    });
    await pollUntil(async () => (await list()).body.members !== null, 'the role to apply');
    const { members } = (await list()).body;
    expect(members.map(({ role }: { role: string }) => role)).to.have.members(['berth-member', 'reader']);
  });

  it('tells who created and changed an object, and what was noted about it, not what belongs to another namespace', async () => {
    const { namespace, token } = await harness.makeMember();
    const member = await harness.signIn(token);
    const base = `/api/namespaces/${namespace}`;
    const made = await member.call('POST', `${base}/keys`, { name: 'mine' });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const list = async () => (await member.call('GET', `${base}/changes`)).body;
    const user = made.body.key.creator.name;
    const entry = { type: 'change', program: 'berth-console', user, kind: 'APIKey', object: 'mine' };
    const created = await list();
    expect(created.entries).to.have.length(1);
    expect(created.entries[0]).to.include({ ...entry, isCreation: true });
    // Another tool, which owns what it wrote; the console takes it over without a conflict.
    const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/apikeys/mine`;
    await harness.kube('PATCH', `${path}?fieldManager=kubectl`, { spec: { rpm: 5, tpd: 7 } });
    expect((await member.call('PATCH', `${base}/keys/mine`, { rpm: 6 })).status).to.equal(200);
    const { entries } = await list();
    const wrote = (program: string) => entries.find((each: { program: string }) => each.program === program);
    expect(wrote('kubectl').fields).to.deep.equal(['spec.tpd']);
    expect(wrote('berth-console').fields).to.include('spec.rpm');
    const event = {
      metadata: { name: 'mine.1', namespace },
      regarding: { apiVersion: 'berth.dev/v1alpha1', kind: 'APIKey', name: 'mine', namespace },
      type: 'Normal',
      reason: 'KeyCreated',
      action: 'KeyCreated',
      note: 'secret written',
      eventTime: '2026-01-02T00:00:00.000000Z',
      reportingController: 'berth.dev/operator',
      reportingInstance: 'operator-0',
    };
    const events = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const pod = { apiVersion: 'v1', kind: 'Pod', name: 'pod', namespace };
    for (const each of [event, { ...event, metadata: { name: 'pod.1', namespace }, regarding: pod }])
      expect((await harness.kube('POST', events, each)).status).to.equal(201);
    const noted = await list();
    expect(noted.hasEvents).to.equal(true);
    const notes = noted.entries.filter(({ type }: { type: string }) => type === 'event');
    expect(notes).to.have.length(1);
    expect(notes[0]).to.include({ program: 'berth.dev/operator', object: 'mine', message: 'secret written' });
    const other = await harness.makeMember();
    expect((await member.call('GET', `/api/namespaces/${other.namespace}/changes`)).status).to.equal(403);
  });
});
