/** Signing in, the cookie, and what ends a session. */
import { expect } from 'chai';
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
