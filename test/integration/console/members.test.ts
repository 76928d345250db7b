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

  it('tells which program created and changed an object, not what belongs to another namespace', async () => {
    const { namespace, token } = await harness.makeMember();
    const member = await harness.signIn(token);
    const made = await member.call('POST', `/api/namespaces/${namespace}/keys`, { name: 'mine' });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const { body } = await member.call('GET', `/api/namespaces/${namespace}/changes`);
    expect(body.changes).to.have.length(1);
    expect(body.changes[0]).to.include({
      manager: 'berth-console',
      kind: 'APIKey',
      object: 'mine',
      isCreation: true,
    });
    const other = await harness.makeMember();
    expect((await member.call('GET', `/api/namespaces/${other.namespace}/changes`)).status).to.equal(403);
  });
});
