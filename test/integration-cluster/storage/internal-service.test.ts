import { expect } from 'chai';
import type { ErrorEnvelope } from '../../../api/api-objects.ts';
import { operatorToken, storageToken } from '../../../api/identity.ts';
import {
  type CheckURLAnswer,
  INTERNAL_PATHS,
  type VerifyAnswer,
  WORKSPACE_HEADER,
} from '../../../api/internal-api.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { inputKey, resultKey } from '../../../gateway/storage/object-keys.ts';
import { readCredential } from '../../../redis/publication/published.ts';
import { findFreePort } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';
import { newRequestId, newToken } from '../../support/request-fixture.ts';
import { shiftClock } from '../../support/shifted-clock.ts';
import { putObject } from '../../support/store-objects.ts';
import {
  CUSTOMER,
  holdText,
  MANAGED,
  MASTER_KEY,
  type StorageHarness,
  startStorage,
} from './storage-harness.ts';

const TEXT = 'hello';
/** Tenants' URLs may use no port below 1024. */
const NOWHERE = `http://127.0.0.1:${await findFreePort()}`;
const readError = async (answer: Response) => ((await answer.json()) as ErrorEnvelope).error;
const place = (workspace: string) => ({ workspace, request: newRequestId(), token: newToken() });
const object = (key: string) => ({ key, contentType: 'text/plain', contentLength: TEXT.length });

describe('the internal service of a front', () => {
  let harness: StorageHarness;
  before(async function () {
    this.timeout(600_000);
    harness = await startStorage({ bucket: { prefix: 'berth/' } });
    await harness.publish('team', { prefix: 'from berth/' });
  });
  after(() => harness?.stop());

  const ask = (path: string, question: unknown, headers: Record<string, string>) =>
    fetch(harness.origin + path, {
      method: 'POST',
      body: typeof question === 'string' ? question : JSON.stringify(question),
      headers,
    });
  const asWorkspace = (namespace: string, token = storageToken(MASTER_KEY, namespace)) => ({
    authorization: `Bearer ${token}`,
    [WORKSPACE_HEADER]: namespace,
  });
  const puts = (namespace: string, ...keys: string[]) => ({
    namespace,
    credential: null,
    objects: keys.map(object),
  });

  for (const [where, credential, bucket, prefix, provider] of [
    ['the managed bucket', null, MANAGED, 'berth/', null],
    ['a customer’s bucket', 'own', CUSTOMER, 'from berth/', 's3'],
  ] as const)
    it(`signs links to write to ${where} and to read from it, under its prefix`, async () => {
      const key = resultKey(place('team'), 0, 'txt');
      const urlSigner = harness.remote('team');
      const permission = await urlSigner.signPuts({ namespace: 'team', credential, objects: [object(key)] });
      expect(permission).to.include({ bucket, provider });
      const [put] = permission.puts;
      expect(put!.key).to.equal(prefix + key);
      const { url, headers } = put!.grant;
      expect((await fetch(url, { method: 'PUT', headers, body: TEXT })).status).to.equal(200);
      expect(harness.list(bucket)).to.include(prefix + key);
      const objects = [{ key: put!.key, fileName: 'a "b".txt' }];
      const [link] = await urlSigner.signGets({
        namespace: 'team',
        credential,
        objects,
        expiresInSeconds: 60,
      });
      const answer = await fetch(link!);
      expect(await answer.text()).to.equal(TEXT);
      expect(answer.headers.get('content-disposition')).to.match(/^attachment; filename="a _b_.txt"/);
      const broken = await fetch(link!.replace(/Signature=..../, 'Signature=0000'));
      expect(broken.status).to.equal(403);
    });

  it('signs links that die when their time is over', async () => {
    const key = `berth/${resultKey(place('team'), 0, 'txt')}`;
    await harness.storage.stores
      .find({ namespace: 'team', credential: null })
      .then((found) => putObject(found!.store, key, Buffer.from(TEXT), 'text/plain'));
    const [link] = await harness.remote('team').signGets({
      namespace: 'team',
      credential: null,
      objects: [{ key }],
      expiresInSeconds: 2,
    });
    expect((await fetch(link!)).status).to.equal(200);
    await pollUntil(async () => (await fetch(link!)).status === 403, 'the end of the link', 6_000);
  });

  it('reads objects under a prefix that the bucket had before', async () => {
    const objects = [{ key: `before/${resultKey(place('team'), 0, 'txt')}` }];
    const question = { namespace: 'team', credential: null, objects, expiresInSeconds: 60 };
    expect(await harness.remote('team').signGets(question)).to.have.length(1);
  });

  const strangers: [string, () => Record<string, string>][] = [
    ['no token', () => ({})],
    ['a wrong token', () => asWorkspace('team', 'wrong')],
    ['another workspace’s token', () => asWorkspace('team', storageToken(MASTER_KEY, 'other'))],
    ['the operator’s token', () => asWorkspace('team', operatorToken(MASTER_KEY))],
    [
      'a token without its workspace',
      () => ({ authorization: `Bearer ${storageToken(MASTER_KEY, 'team')}` }),
    ],
  ];
  for (const [what, headers] of strangers)
    for (const path of [INTERNAL_PATHS.signPuts, INTERNAL_PATHS.signGets])
      it(`refuses ${what} on ${path}`, async () => {
        const question = { ...puts('team', inputKey('team', newRequestId(), 'a.png')), expiresInSeconds: 60 };
        const answer = await ask(path, question, headers());
        expect(answer.status).to.equal(401);
        expect((await readError(answer)).code).to.equal('invalid_api_key');
      });

  const keys: [string, string][] = [
    ['another workspace’s result', resultKey(place('other'), 0, 'png')],
    ['another workspace’s input', inputKey('other', newRequestId(), 'a.png')],
    ['a key above the workspace', 'results/team/../other/req_1/token/0.png'],
    ['a key of no tree', 'secrets/team/req_1/token/0.png'],
    ['a short key', 'results/team'],
    ['another’s key that has the workspace’s name in it', 'results/other/req_1/team/0.png'],
    ['a key with a slash at its start', '/results/team/req_1/token/0.png'],
  ];
  for (const [what, key] of keys)
    it(`signs nothing for ${what}`, async () => {
      const put = await ask(INTERNAL_PATHS.signPuts, puts('team', key), asWorkspace('team'));
      expect(put.status, 'put').to.be.oneOf([400, 403]);
      if (what.startsWith('a key with') || what.startsWith('a key above')) return;
      const question = { namespace: 'team', credential: null, objects: [{ key }], expiresInSeconds: 60 };
      const get = await ask(INTERNAL_PATHS.signGets, question, asWorkspace('team'));
      expect(get.status, 'get').to.equal(403);
      expect(await get.text()).not.to.contain('Signature');
    });

  it('takes the workspace from the token, whatever the question says', async () => {
    const question = puts('other', inputKey('other', newRequestId(), 'a.png'));
    const answer = await ask(INTERNAL_PATHS.signPuts, question, asWorkspace('team'));
    expect(answer.status).to.equal(403);
    const own = { namespace: 'other', credential: 'own', objects: [object(inputKey('other', 'req_1', 'a'))] };
    expect((await ask(INTERNAL_PATHS.signPuts, own, asWorkspace('other'))).status).to.equal(422);
  });

  const key = inputKey('team', 'req_1', 'a.png');
  const senseless: [string, unknown, number][] = [
    ['no JSON', '{', 400],
    ['no object at all', puts('team'), 400],
    ['over 100 objects', puts('team', ...Array.from({ length: 101 }, () => key)), 400],
    ['a negative size', { ...puts('team'), objects: [{ ...object(key), contentLength: -1 }] }, 400],
    ['a size beyond S3’s', { ...puts('team'), objects: [{ ...object(key), contentLength: 1e13 }] }, 400],
    [
      'a type with a line break',
      { ...puts('team'), objects: [{ ...object(key), contentType: 'a/b\r\nc' }] },
      400,
    ],
    ['more than it reads', 'x'.repeat(300 * 1024), 413],
  ];
  for (const [what, question, status] of senseless)
    it(`answers ${status} to ${what}`, async () => {
      const answer = await ask(INTERNAL_PATHS.signPuts, question, asWorkspace('team'));
      expect(answer.status).to.equal(status);
      expect((await readError(answer)).code).to.be.a('string');
    });

  it('answers 404 and 405 elsewhere', async () => {
    expect((await ask('/internal/else', {}, asWorkspace('team'))).status).to.equal(404);
    expect((await fetch(harness.origin + INTERNAL_PATHS.signPuts)).status).to.equal(405);
  });

  it('reports a deleted storage credential to a sidecar with the documented message', async () => {
    const question = { namespace: 'team', credential: 'gone', objects: [object(key)] };
    const error = await rejection(harness.remote('team').signPuts(question));
    expect(error)
      .to.be.instanceOf(ApiError)
      .and.include({ code: 'storage_credential_not_found', status: 422 });
  });

  it('goes on with new keys as soon as a credential changes', async () => {
    const question = {
      namespace: 'third',
      credential: 'own',
      objects: [object(inputKey('third', 'req_1', 'a'))],
    };
    await harness.publish('third');
    const before = await harness.remote('third').signPuts(question);
    await harness.publish(
      'third',
      { bucket: MANAGED },
      { accessKeyId: 'OTHERKEY', secretAccessKey: 'other' },
    );
    const after = await harness.remote('third').signPuts(question);
    expect([before.bucket, after.bucket]).to.deep.equal([CUSTOMER, MANAGED]);
    expect(after.puts[0]!.grant.url).to.contain('OTHERKEY');
  });

  it('does not open what was sealed for another workspace', async () => {
    await harness.publish('fourth');
    const stolen = await readCredential(harness.connection.redis, 'fourth', { id: 7 });
    await harness.publish('fifth', { sealed: stolen!.sealed });
    const question = {
      namespace: 'fifth',
      credential: 'own',
      objects: [object(inputKey('fifth', 'req_1', 'a'))],
    };
    const error = await rejection(harness.remote('fifth').signPuts(question));
    expect(error).to.include({ code: 'storage_credential_not_verified' });
  });

  it('answers 503 while Redis, which has the credentials, is away, and recovers by itself', async () => {
    const question = { namespace: 'team', credential: 'own', objects: [object(key)] };
    harness.redis.pause();
    const answer = await ask(INTERNAL_PATHS.signPuts, question, asWorkspace('team'));
    harness.redis.resume();
    expect(answer.status).to.equal(503);
    await pollUntil(
      async () => (await ask(INTERNAL_PATHS.signPuts, question, asWorkspace('team'))).status === 200,
      'links once Redis is back',
    );
  });

  describe('when the operator asks it to verify a credential', () => {
    const asOperator = () => ({ authorization: `Bearer ${operatorToken(MASTER_KEY)}` });
    const verify = async (namespace: string) => {
      const answer = await ask(INTERNAL_PATHS.verify, { namespace, id: 7 }, asOperator());
      return { status: answer.status, ...((await answer.json()) as VerifyAnswer) };
    };

    it('says that it can be used, and leaves nothing behind', async () => {
      await harness.publish('verified', { prefix: 'below/here/' });
      const objects = harness.list(CUSTOMER);
      expect(await verify('verified')).to.include({ status: 200, verified: true, reason: 'Verified' });
      expect(harness.list(CUSTOMER)).to.deep.equal(objects);
    });

    const faults: [
      string,
      Parameters<StorageHarness['publish']>[1],
      { accessKeyId: string } | null,
      string,
    ][] = [
      ['a bucket that is none', { bucket: 'nowhere' }, null, 'Bucket'],
      ['an unknown access key', {}, { accessKeyId: 'UNKNOWN' }, 'Credentials'],
      ['a store where nothing listens', { endpoint: NOWHERE }, null, 'Unreachable'],
      ['a link-local endpoint', { endpoint: 'https://169.254.169.254' }, null, 'Address'],
      ['a region that is none', { region: 'a b' }, null, 'Region'],
      ['a prefix that leads elsewhere', { prefix: '../' }, null, 'Prefix'],
    ];
    for (const [what, fields, keys, reason] of faults)
      it(`names the fault in fixed words: ${what}`, async () => {
        const { accessKeyId, secretAccessKey } = harness.s3;
        await harness.publish('faulty', fields, { accessKeyId, secretAccessKey, ...keys });
        const { status, verified, reason: told, message } = await verify('faulty');
        expect({ status, verified, told }).to.deep.equal({ status: 200, verified: false, told: reason });
        expect(message).to.match(/^(does|is|cannot|rejects) /);
      });

    it('names pathStyle where a host with the bucket’s name is not there', async () => {
      const endpoint = NOWHERE.replace('127.0.0.1', 'localhost');
      await harness.publish('by-host', { endpoint, pathStyle: false });
      const answer = await verify('by-host');
      expect(answer).to.include({ verified: false, reason: 'Unreachable' });
      expect(answer.message).to.contain('customer.<endpoint>').and.contain('set pathStyle: true');
    });

    it('names pathStyle where the store takes buckets by path', async () => {
      const endpoint = harness.s3.endpoint.replace('127.0.0.1', 'localhost');
      await harness.publish('by-path', { endpoint, pathStyle: false, prefix: 'berth/' });
      const answer = await verify('by-path');
      expect(answer).to.include({ verified: false, reason: 'Addressing' });
      expect(answer.message).to.match(/change pathStyle, which is false$/);
    });

    it('names a clock that differs, and takes requests again once it does not', async () => {
      await harness.publish('skewed');
      const restore = shiftClock(-20 * 60_000);
      try {
        expect(await verify('skewed')).to.include({ verified: false, reason: 'Clock' });
      } finally {
        restore();
      }
      expect(await verify('skewed')).to.include({ verified: true });
    });

    it('names keys that may not write', async () => {
      await harness.publish('denied', {}, harness.s3.createUser());
      expect(await verify('denied')).to.include({ verified: false, reason: 'Denied' });
    });

    it('answers a workspace’s token 401 and an unknown id 422', async () => {
      const stranger = await ask(INTERNAL_PATHS.verify, { namespace: 'team', id: 7 }, asWorkspace('team'));
      expect(stranger.status).to.equal(401);
      expect((await ask(INTERNAL_PATHS.verify, { namespace: 'team', id: 8 }, asOperator())).status).to.equal(
        422,
      );
    });
  });

  describe('when the operator asks what a model takes', () => {
    const hub = NOWHERE;
    const look = (question: object, headers: Record<string, string>) =>
      ask(INTERNAL_PATHS.lookUpModel, { hub, repo: 'org/model', revision: 'main', ...question }, headers);
    const asOwner = { authorization: `Bearer ${operatorToken(MASTER_KEY)}` };

    it('answers why the hub does not say', async () => {
      expect(await (await look({}, asOwner)).json()).to.deep.equal({
        found: false,
        isFinal: false,
        message: 'could not be read: the hub does not accept connections',
      });
    });

    it('answers a workspace’s token 401, and names that lead elsewhere 400', async () => {
      expect((await look({}, asWorkspace('team'))).status).to.equal(401);
      for (const repo of ['../../admin', 'a/b/c', 'a/../b', 'a?b', '/a', 'a/.b'])
        expect((await look({ repo }, asOwner)).status, repo).to.equal(400);
      for (const revision of ['.', '..'])
        expect((await look({ revision }, asOwner)).status, revision).to.equal(400);
    });
  });

  describe('when the operator asks whether a URL may be called', () => {
    const check = async (
      url: unknown,
      headers = { authorization: `Bearer ${operatorToken(MASTER_KEY)}` },
    ) => {
      const answer = await ask(INTERNAL_PATHS.checkURL, { url }, headers);
      return { status: answer.status, ...((await answer.json()) as CheckURLAnswer) };
    };

    const urls: [string, string][] = [
      ['https://93.184.216.34/hook', ''],
      ['https://10.0.0.1/hook', 'does not resolve to a public address'],
      ['https://[::ffff:a9fe:a9fe]/', 'does not resolve to a public address'],
      ['ftp://93.184.216.34/', 'must start with https://'],
      ['https://user@93.184.216.34/', 'must not contain a user name or password'],
      ['https://93.184.216.34:22/', 'must use the default port or one above 1023'],
      ['no URL', 'is not a valid URL'],
    ];
    for (const [url, message] of urls)
      it(`answers "${message}" for ${url}`, async () => {
        expect(await check(url)).to.deep.equal({ status: 200, ok: message === '', message });
      });

    it('answers a workspace’s token 401 and a question without a URL 400', async () => {
      const stranger = await ask(INTERNAL_PATHS.checkURL, { url: 'https://a.example' }, asWorkspace('team'));
      expect(stranger.status).to.equal(401);
      expect((await check(7)).status).to.equal(400);
    });
  });
});

describe('a managed bucket', () => {
  let harness: StorageHarness | undefined;
  afterEach(() => harness?.stop());
  const objects = [object(inputKey('team', 'req_1', 'a.txt'))];
  const question = { namespace: 'team', credential: null, objects };

  it('gives clients links by its public endpoint and gateways links by its own', async function () {
    this.timeout(600_000);
    harness = await startStorage({ bucket: { publicEndpoint: 'https://s3.example.com' } });
    const urlSigner = harness.remote('team');
    const { puts } = await urlSigner.signPuts(question);
    const reading = { ...question, objects: [{ key: puts[0]!.key }], expiresInSeconds: 60 };
    const [outside] = await urlSigner.signGets(reading);
    const [inside] = await urlSigner.signGets({ ...reading, isInternal: true });
    expect(new URL(outside!).origin).to.equal('https://s3.example.com');
    expect(new URL(inside!).origin).to.equal(harness.s3.endpoint);
    expect(new URL(puts[0]!.grant.url).origin).to.equal(harness.s3.endpoint);
  });

  it('is reached by virtual hosts', async () => {
    const virtualDomain = 's3.localhost';
    harness = await startStorage({ virtualDomain, bucket: null });
    const endpoint = `http://${virtualDomain}:${harness.s3.port}`;
    await harness.publish('team', { endpoint, pathStyle: false });
    const { puts } = await harness.remote('team').signPuts({ ...question, credential: 'own' });
    const { grant } = puts[0]!;
    expect(new URL(grant.url).hostname).to.equal(`${CUSTOMER}.${virtualDomain}`);
    const file = await holdText(harness, TEXT);
    await harness.storage.services.uploader.upload(file, grant, { deadlineMs: 10_000 });
    expect(harness.list(CUSTOMER)).to.deep.equal([objects[0]!.key]);
  });

  it('may be missing, which a sidecar reports with instructions for the administrator', async () => {
    harness = await startStorage({ bucket: null });
    const error = await rejection(harness.remote('team').signPuts(question));
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
    expect((error as Error).message).to.contain('managed storage');
  });
});

describe('a sidecar’s way to fronts', () => {
  let harness: StorageHarness;
  before(async function () {
    this.timeout(600_000);
    harness = await startStorage();
  });
  after(() => harness?.stop());
  const question = {
    namespace: 'team',
    credential: null,
    objects: [object(inputKey('team', 'req_1', 'a.txt'))],
  };

  it('says upload failed where no front answers, and unavailable where links are asked for', async () => {
    const alone = harness.remote('team', { url: 'http://127.0.0.1:1' });
    expect(await rejection(alone.signPuts(question))).to.include({
      code: 'storage_upload_failed',
      status: 502,
    });
    const links = { ...question, objects: [{ key: question.objects[0]!.key }], expiresInSeconds: 60 };
    expect(await rejection(alone.signGets(links))).to.include({
      code: 'temporarily_unavailable',
      status: 503,
    });
  });

  it('says so where the installation has none', async () => {
    const error = await rejection(harness.remote('team', { url: null }).signPuts(question));
    expect(error).to.include({ code: 'temporarily_unavailable' });
  });

  it('shows no client that its own token was refused', async () => {
    const error = await rejection(harness.remote('team', { token: 'wrong' }).signPuts(question));
    expect(error).not.to.be.instanceOf(ApiError);
    expect((error as Error).message).to.contain('401');
  });
});
