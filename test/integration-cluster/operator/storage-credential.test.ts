import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { deriveId, operatorToken, workspaceDataKey } from '../../../api/identity.ts';
import { INTERNAL_PATHS, type VerifyAnswer, type VerifyQuestion } from '../../../api/internal-api.ts';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import { configKeys } from '../../../api/redis-keys.ts';
import { openStorageKeys } from '../../../api/storage-keys.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readCredentials } from '../../../redis/publication/published.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const { ModelDeployment, StorageCredential } = BERTH_RESOURCES;
const VERIFIED: VerifyAnswer = { verified: true, reason: 'Verified', message: '' };
const DENIED: VerifyAnswer = { verified: false, reason: 'Denied', message: 'denies the use of these keys' };
const UNREACHABLE: VerifyAnswer = { verified: false, reason: 'Unreachable', message: 'cannot be reached' };
const KEYS = { accessKeyId: 'AKIA1', secretAccessKey: 'secret-1' };

describe('storage credentials', () => {
  const harness = useHarness();
  let namespace: string;
  /** Stands for the front: what stores are like is the gateway's to test. */
  let front: Server;
  let answers: (question: VerifyQuestion) => VerifyAnswer | number;
  let questions: VerifyQuestion[];
  const clock = { offset: 0 };

  before(async () => {
    front = createServer(async (request, response) => {
      const isOurs =
        request.method === 'POST' &&
        request.url === INTERNAL_PATHS.verify &&
        request.headers.authorization === `Bearer ${operatorToken('master')}`;
      const question = (await json(request)) as VerifyQuestion;
      // A test before may have left one of its own that was not reported yet.
      if (question.namespace === namespace) questions.push(question);
      const answer = isOurs ? answers(question) : 401;
      response.statusCode = typeof answer === 'number' ? answer : 200;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
  });
  after(() => front.close());
  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    answers = () => VERIFIED;
    questions = [];
    clock.offset = 0;
  });

  const start = () =>
    harness.startOperator({
      settings: makeSettings({ storageURL: `http://127.0.0.1:${(front.address() as AddressInfo).port}` }),
      now: () => Date.now() + clock.offset,
    });
  const makeSecret = (data: Record<string, string> = KEYS, name = 'keys') =>
    harness.cluster.client.create(RESOURCES.Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData: data,
    });
  const create = (name: string, spec: object = {}) =>
    harness.cluster.create(
      StorageCredential,
      { namespace, name },
      { bucket: 'results', secret: 'keys', ...spec },
    );
  const statusOf = async (name: string) =>
    ((await harness.cluster.find(StorageCredential, namespace, name))?.status ?? {}) as {
      id?: number;
      lastHandledVerify?: string;
      conditions?: Condition[];
    };
  const condition = async (name: string, type: string) =>
    (await statusOf(name)).conditions?.find((each) => each.type === type);
  const isVerified = async (name: string) => (await condition(name, 'Verified'))?.status;
  const published = () => readCredentials(harness.redis.redis, namespace);
  const publishedAs = async (name: string) => (await published()).find((each) => each.name === name);
  const change = (name: string, patch: object) =>
    harness.cluster.client.mergePatch(StorageCredential, { at: { namespace, name }, patch });
  /** Makes it due, as time does. */
  let pokes = 0;
  const poke = (name: string) => change(name, { metadata: { annotations: { poke: String(++pokes) } } });
  const pass = async (name: string, ms: number) => {
    clock.offset += ms;
    await poke(name);
  };
  const asked = (count: number) => pollUntil(() => questions.length >= count, `question ${count}`);

  it('has its keys sealed and published, its bucket checked by a front, and is reported as verified', async () => {
    await makeSecret();
    start();
    await create('mine', { endpoint: 'https://s3.example.com', prefix: 'berth/', pathStyle: false });
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    const id = deriveId('StorageCredential', namespace, 'mine');
    expect((await statusOf('mine')).id).to.equal(id);
    expect(questions).to.deep.equal([{ namespace, id }]);
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
    const { sealed, ...entry } = (await publishedAs('mine'))!;
    expect(entry).to.deep.equal({
      v: 1,
      id,
      name: 'mine',
      endpoint: 'https://s3.example.com',
      region: 'us-east-1',
      bucket: 'results',
      prefix: 'berth/',
      pathStyle: false,
      verified: true,
    });
    const place = { redisKey: configKeys(namespace).credentials, credentialId: id };
    expect(openStorageKeys(sealed, place, workspaceDataKey('master', namespace))).to.deep.equal(KEYS);
    await pollUntil(async () => (await harness.cluster.events(namespace, 'mine')).includes('Verified'));
    const told = JSON.stringify([
      await harness.cluster.list(RESOURCES.Event, namespace),
      await harness.cluster.find(StorageCredential, namespace, 'mine'),
    ]);
    expect(told).to.not.contain(KEYS.secretAccessKey);
  });

  it('is tried at once when somebody asks, and once for each time', async () => {
    await makeSecret();
    start();
    await create('mine');
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    answers = () => DENIED;
    await poke('mine');
    await change('mine', { metadata: { annotations: { [ANNOTATIONS.verify]: '1' } } });
    await pollUntil(async () => (await isVerified('mine')) === 'False');
    expect((await statusOf('mine')).lastHandledVerify).to.equal('1');
    await poke('mine');
    answers = () => VERIFIED;
    await change('mine', { metadata: { annotations: { [ANNOTATIONS.verify]: '2' } } });
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    expect(questions).to.have.length(3);
  });

  it('is published before it is tried, and not as verified', async () => {
    await makeSecret();
    const seen: (boolean | undefined)[] = [];
    answers = () => {
      void publishedAs('mine').then((entry) => seen.push(entry?.verified));
      return VERIFIED;
    };
    start();
    await create('mine');
    await pollUntil(() => seen.length === 1);
    expect(seen[0]).to.equal(false);
  });

  it('survives a restart of the operator: no write, no other seal, never unpublished', async () => {
    await makeSecret();
    const first = start();
    await create('mine');
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
    await harness.settle(first);
    const before = await published();
    await first.stop();
    const second = start();
    await harness.settle(second);
    expect(await published()).to.deep.equal(before);
    expect(second.writes().filter((write) => !write.endsWith(' leases'))).to.deep.equal([]);
    expect(questions).to.have.length(1);
  });

  it('is published again as it was after Redis lost it', async () => {
    await makeSecret();
    start();
    await create('mine');
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
    const before = await published();
    await harness.redis.redis.flushall();
    await pollUntil(async () => (await published()).length === 1);
    expect(await published()).to.deep.equal(before);
  });

  const refusals: [string, object, Record<string, string> | undefined, string, RegExp][] = [
    ['no Secret', {}, undefined, 'SecretNotFound', /Secret keys not found/],
    ['half a Secret', {}, { accessKeyId: 'a' }, 'SecretKeyNotFound', /has no secretAccessKey/],
    ['a session token', {}, { ...KEYS, sessionToken: 't' }, 'SessionToken', /do not expire/],
    ['keys that are none', {}, { ...KEYS, accessKeyId: 'a b' }, 'SecretInvalid', /spaces/],
    ['an endpoint without TLS', { endpoint: 'http://s3.example.com' }, KEYS, 'EndpointNotAllowed', /https:/],
  ];
  for (const [what, spec, secret, reason, words] of refusals)
    it(`is not accepted with ${what}, and reports why`, async () => {
      if (secret) await makeSecret(secret);
      start();
      await create('mine', spec);
      await pollUntil(async () => (await condition('mine', 'Accepted'))?.reason === reason);
      expect((await condition('mine', 'Accepted'))?.message).to.match(words);
      expect(await isVerified('mine')).to.equal('False');
      await pollUntil(async () => (await publishedAs('mine'))?.sealed === '');
      expect((await publishedAs('mine'))?.verified).to.equal(false);
      expect(questions).to.deep.equal([]);
      await pollUntil(async () => (await harness.cluster.events(namespace, 'mine')).includes(reason));
    });

  const bad: [string, object, RegExp][] = [
    ['a path in the endpoint', { endpoint: 'https://s3.example.com/results' }, /must be an origin/],
    ['a user in the endpoint', { endpoint: 'https://u:p@s3.example.com' }, /must be an origin/],
    ['another scheme', { endpoint: 's3://results' }, /must be an origin/],
    ['a bucket that is none', { bucket: 'Results!' }, /must be the name of a bucket/],
    ['a prefix from the root', { prefix: '/berth' }, /no "\/" at the beginning/],
    ['a prefix that leads upwards', { prefix: 'a/../b' }, /no "\.\."/],
    ['no Secret', { secret: null }, /secret/],
  ];
  for (const [what, spec, words] of bad)
    it(`is refused by the API server with ${what}`, async () => {
      const refusal = await create('bad', spec).then(
        () => '',
        (error: Error) => error.message,
      );
      expect(refusal).to.match(words);
    });

  it('gives an id to the older of two, and to the other when that goes', async () => {
    await makeSecret();
    start();
    await create('a-older', { id: 4711 });
    await create('b-newer', { id: 4711 });
    await pollUntil(async () => (await condition('b-newer', 'Accepted'))?.reason === 'IdConflict');
    await pollUntil(async () => (await publishedAs('a-older')) !== undefined);
    expect(await publishedAs('b-newer')).to.equal(undefined);
    await harness.cluster.delete(StorageCredential, namespace, 'a-older');
    await pollUntil(async () => (await isVerified('b-newer')) === 'True');
    await pollUntil(async () => (await published()).map(({ name }) => name).join() === 'b-newer');
  });

  it('is unpublished when it is deleted, also while no operator ran', async () => {
    await makeSecret();
    const first = start();
    await create('one');
    await create('two');
    await pollUntil(async () => (await published()).length === 2);
    await harness.cluster.delete(StorageCredential, namespace, 'one');
    await pollUntil(async () => (await published()).map(({ name }) => name).join() === 'two');
    await first.stop();
    await harness.cluster.delete(StorageCredential, namespace, 'two');
    start();
    await pollUntil(async () => (await published()).length === 0);
  });

  it('is tried again when its spec or its keys change, and is not used until that is over', async () => {
    await makeSecret();
    start();
    await create('mine');
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    answers = () => DENIED;
    await change('mine', { spec: { bucket: 'others' } });
    await pollUntil(async () => (await condition('mine', 'Verified'))?.reason === 'Denied');
    expect((await condition('mine', 'Verified'))?.message).to.equal(
      'bucket others denies the use of these keys',
    );
    await pollUntil(async () => (await publishedAs('mine'))?.verified === false);
    answers = () => VERIFIED;
    await harness.cluster.client.mergePatch(RESOURCES.Secret, {
      at: { namespace, name: 'keys' },
      patch: { stringData: { secretAccessKey: 'secret-2' } },
    });
    await poke('mine');
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    expect(questions).to.have.length(3);
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
  });

  it('is tried again with growing pauses while it fails', async () => {
    await makeSecret();
    answers = () => DENIED;
    const operator = start();
    await create('mine');
    await pollUntil(async () => (await condition('mine', 'Verified'))?.reason === 'Denied');
    await pass('mine', 14_000);
    const pokedVersion = (await harness.cluster.find(StorageCredential, namespace, 'mine'))?.metadata
      .resourceVersion;
    await pollUntil(
      () =>
        operator.program.view.credentials.get(`${namespace}/mine`)?.metadata.resourceVersion === pokedVersion,
    );
    await harness.settle(operator);
    expect(questions).to.have.length(1);
    await pass('mine', 2_000);
    await asked(2);
    answers = () => VERIFIED;
    await pass('mine', 31_000);
    await pollUntil(async () => (await isVerified('mine')) === 'True');
    expect(questions).to.have.length(3);
  });

  it('that works is not taken away by a store that is away for a moment, but by one that stays away', async () => {
    await makeSecret();
    start();
    await create('mine');
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
    answers = () => UNREACHABLE;
    for (const [index, ms] of [3_960_000, 16_000, 31_000, 61_000].entries()) {
      await pass('mine', ms);
      await asked(index + 2);
      await pollUntil(async () => (await condition('mine', 'Verified'))?.reason === 'CheckFailed');
      expect(await isVerified('mine')).to.equal('True');
      expect((await publishedAs('mine'))?.verified).to.equal(true);
    }
    await pass('mine', 121_000);
    await pollUntil(async () => (await isVerified('mine')) === 'False');
    await pollUntil(async () => (await publishedAs('mine'))?.verified === false);
    answers = () => VERIFIED;
    await pass('mine', 300_000);
    await pollUntil(async () => (await publishedAs('mine'))?.verified === true);
  });

  it('reports that no front answered, and retries', async () => {
    await makeSecret();
    answers = () => 503;
    start();
    await create('mine');
    await pollUntil(async () => (await condition('mine', 'Verified'))?.reason === 'FrontUnavailable');
    expect(await isVerified('mine')).to.equal('Unknown');
    answers = () => VERIFIED;
    await pass('mine', 16_000);
    await pollUntil(async () => (await isVerified('mine')) === 'True');
  });

  it('that a deployment names is reported on the deployment, which still serves', async () => {
    const { cluster } = harness;
    start();
    await cluster.createModel(namespace, 'painter', { kind: 'Image', storage: { credential: 'mine' } });
    const storage = () => cluster.condition(namespace, 'painter', 'StorageReady');
    await pollUntil(async () => (await storage())?.reason === 'CredentialNotFound');
    expect((await cluster.condition(namespace, 'painter', 'Accepted'))?.status).to.equal('True');
    await pollUntil(
      async () => (await cluster.find(RESOURCES.Deployment, namespace, 'painter')) !== undefined,
    );
    await makeSecret();
    answers = () => DENIED;
    await create('mine');
    await pollUntil(async () => (await storage())?.reason === 'CredentialNotVerified');
    expect((await storage())?.message).to.contain('bucket results denies the use of these keys');
    answers = () => VERIFIED;
    await pass('mine', 16_000);
    await pollUntil(async () => (await storage())?.status === 'True');
    await pollUntil(async () =>
      (await cluster.events(namespace, 'painter')).includes('CredentialNotVerified'),
    );
  });

  it('makes a workspace of its namespace alone', async () => {
    await makeSecret();
    start();
    await create('mine');
    await pollUntil(async () => (await harness.redis.redis.exists(configKeys(namespace).credentials)) === 1);
    await harness.cluster.delete(StorageCredential, namespace, 'mine');
    await pollUntil(async () => (await harness.redis.redis.exists(configKeys(namespace).credentials)) === 0);
    expect(await harness.cluster.list(ModelDeployment, namespace)).to.deep.equal([]);
  });
});
