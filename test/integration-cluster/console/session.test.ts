/** Signing in, the cookie, and what ends a session. */

import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';

import { useConsole } from './console-harness.ts';

describe("the console's sessions", () => {
  const console = useConsole();

  it('signs a member in and shows their own namespace', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = console.person();
    const answer = await someone.call('POST', '/api/session', { token });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    expect(answer.body.namespaces).to.deep.equal([namespace]);
    expect(answer.body.user).to.match(new RegExp(`^system:serviceaccount:${namespace}:`));
    const again = await someone.call('GET', '/api/session');
    expect(again.body).to.deep.equal(answer.body);
    const deployments = await someone.call('GET', `/api/namespaces/${namespace}/deployments`);
    expect([deployments.status, deployments.body]).to.deep.equal([200, []]);
  });

  it('answers 304 to who has the same answer already, and compresses long ones', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const path = `/api/namespaces/${namespace}/keys`;
    for (let index = 0; index < 8; index++)
      expect((await someone.call('POST', path, { name: `key-${index}` })).status).to.equal(201);
    const first = await someone.call('GET', path, undefined, { 'accept-encoding': 'br' });
    expect([first.status, first.headers.get('content-encoding'), first.body.length]).to.deep.equal([
      200,
      'br',
      8,
    ]);
    const etag = first.headers.get('etag')!;
    const same = await someone.call('GET', path, undefined, { 'if-none-match': etag });
    expect([same.status, same.headers.get('cache-control')]).to.deep.equal([304, 'no-store']);
    await someone.call('DELETE', `${path}/key-0`);
    expect((await someone.call('GET', path, undefined, { 'if-none-match': etag })).status).to.equal(200);
  });

  it('distinguishes a namespace that does not exist from an empty one', async () => {
    const { namespace, token } = await console.makeMember();
    const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
    const bound = await console.kube('POST', rbac, {
      metadata: { name: `admin-${namespace}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: `system:serviceaccounts:${namespace}` },
      ],
    });
    expect(bound.status).to.equal(201);
    const admin = await console.signIn(token);
    const isMissing = async (name: string) =>
      (await admin.call('GET', `/api/namespaces/${name}/access`)).body.isMissing;
    await pollUntil(async () => (await isMissing('not-there')) === true, 'a missing namespace');
    expect(await isMissing(namespace)).to.equal(false);
    // Users without the right to see it are not told which is the case.
    const other = await console.makeMember();
    const member = await console.signIn(other.token);
    const { body } = await member.call('GET', '/api/namespaces/not-there/access');
    expect(body.isMissing).to.equal(false);
  });

  it('refuses a name that is taken in words of its own', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const make = () => someone.call('POST', `/api/namespaces/${namespace}/keys`, { name: 'twice' });
    await make();
    const again = await make();
    expect([again.status, again.body.error.param, again.body.error.message]).to.deep.equal([
      409,
      'name',
      'name: is already in use; choose another one',
    ]);
  });

  it('makes a key whose hash alone the API server is given', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const made = await someone.call('POST', `/api/namespaces/${namespace}/keys`, { name: 'first', rpm: 7 });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    expect(made.body.secret).to.match(/^sk-berth-[A-Za-z0-9_-]{43}$/);
    const stored = await console.kube(
      'GET',
      `/apis/berth.dev/v1alpha1/namespaces/${namespace}/apikeys/first`,
    );
    expect(stored.body.spec.rpm).to.equal(7);
    expect(JSON.stringify(stored.body)).not.to.contain(made.body.secret);
    const listed = await someone.call('GET', `/api/namespaces/${namespace}/keys`);
    expect(listed.body.map((key: { name: string }) => key.name)).to.deep.equal(['first']);
  });
});
