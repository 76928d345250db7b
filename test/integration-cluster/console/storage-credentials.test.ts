/** Buckets, whose keys the console writes for people without rights on Secrets. */

import { expect } from 'chai';

import { type Person, useConsole } from './console-harness.ts';
import { VERIFIED, verifyMeanwhile } from './verification.ts';

describe("the console's storage credentials", () => {
  const console = useConsole();
  let namespace: string;
  let someone: Person;
  let base: string;

  beforeEach(async () => {
    const member = await console.makeMember();
    namespace = member.namespace;
    someone = await console.signIn(member.token);
    base = `/api/namespaces/${namespace}`;
  });

  const secretPath = (name: string) => `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const read = async () => {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/storagecredentials/bucket`;
    return (await console.kube('GET', path)).body;
  };

  const DENIED = { status: 'False', reason: 'Denied', message: 'access denied' };
  const operated = <T>(act: () => Promise<T>, verdict: object): Promise<T> =>
    verifyMeanwhile(console.kube, { namespace, name: 'bucket', verdict }, act);

  it("stores a bucket's keys in a Secret that goes with the credential", async () => {
    const body = {
      name: 'bucket',
      bucket: 'results',
      prefix: 'berth/',
      accessKeyId: 'AKIA1',
      secretAccessKey: 's3cr3t',
    };
    const made = await operated(() => someone.call('POST', `${base}/storage-credentials`, body), VERIFIED);
    expect([made.status, made.body.state, made.body.region]).to.deep.equal([201, 'verified', 'us-east-1']);
    const credential = await read();
    const { body: secret } = await console.kube('GET', secretPath(credential.spec.secret));
    expect(Buffer.from(secret.data.secretAccessKey, 'base64').toString()).to.equal('s3cr3t');
    expect(secret.metadata.ownerReferences[0].uid).to.equal(credential.metadata.uid);
    expect(JSON.stringify([made.body, credential])).to.not.contain('s3cr3t');
    const asked = credential.metadata.annotations['berth.dev/verify'];
    const again = await operated(
      () => someone.call('POST', `${base}/storage-credentials/bucket/verify`),
      DENIED,
    );
    expect([again.status, again.body.state, again.body.message]).to.deep.equal([
      200,
      'failed',
      'access denied',
    ]);
    const { metadata } = await read();
    expect(Date.parse(metadata.annotations['berth.dev/verify'])).to.be.at.least(Date.parse(asked));
  });

  it('keeps no credential that never worked, and says what is wrong', async () => {
    const body = { name: 'bucket', bucket: 'results', accessKeyId: 'AKIA1', secretAccessKey: 's3cr3t' };
    const answer = await operated(() => someone.call('POST', `${base}/storage-credentials`, body), DENIED);
    expect([answer.status, answer.body.error.message]).to.deep.equal([
      422,
      'The credential was not added: access denied.',
    ]);
    expect((await someone.call('GET', `${base}/storage-credentials`)).body).to.deep.equal([]);
  });

  it('leaves nothing behind where the console may not write Secrets', async () => {
    const powerless = await console.start({ tokenPath: '/nonexistent' });
    const person = console.person(`http://127.0.0.1:${powerless.port}`);
    person.cookie = someone.cookie;
    const body = { name: 'bucket', bucket: 'results', accessKeyId: 'AKIA1', secretAccessKey: 's3cr3t' };
    const answer = await person.call('POST', `${base}/storage-credentials`, body);
    expect([answer.status, answer.body.error.code]).to.deep.equal([503, 'temporarily_unavailable']);
    expect((await someone.call('GET', `${base}/storage-credentials`)).body).to.deep.equal([]);
    // It is not their session that failed.
    expect((await person.call('GET', '/api/session')).status).to.equal(200);
  });
});
