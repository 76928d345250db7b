import { expect } from 'chai';
import type { StoredObject } from '../../../api/request.ts';
import { Cleaner } from '../../../gateway/front/housekeeping/cleaner.ts';
import { inputKey, resultKey } from '../../../gateway/storage/object-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishCredentials } from '../../../redis/publication/publication.ts';
import { readWorkspaces } from '../../../redis/publication/published.ts';
import { registerObjects } from '../../../redis/requests/object-cleanup.ts';
import { startSocketServer } from '../../support/loopback-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { newRequestId, newToken } from '../../support/request-fixture.ts';
import { putObject } from '../../support/store-objects.ts';
import { CUSTOMER, MANAGED, type StorageHarness, startStorage } from '../storage/storage-harness.ts';

const TIMING = { intervalMs: 20, leaseMs: 300, initialDelayMs: 200, maxDelayMs: 400 };

describe('the clean-up of stored objects', () => {
  let harness: StorageHarness;
  let cleaner: Cleaner | undefined;
  let outcomes: string[];
  beforeEach(async function () {
    this.timeout(600_000);
    outcomes = [];
    harness = await startStorage({ bucket: { prefix: 'berth/' } });
    for (const namespace of ['team', 'other']) await harness.publish(namespace);
  });
  afterEach(async () => {
    harness.s3.resume();
    await cleaner?.close();
    await harness.stop();
  });

  const start = () => {
    cleaner = new Cleaner({
      redis: harness.connection.redis,
      stores: harness.storage.stores,
      listWorkspaces: () => readWorkspaces(harness.connection.redis),
      onObject: (outcome) => outcomes.push(outcome),
      log: createLog('silent'),
      timing: TIMING,
    });
  };
  const put = async (namespace: string, credential: string | null = null): Promise<StoredObject> => {
    const found = await harness.storage.stores.find({ namespace, credential });
    const place = { workspace: namespace, request: newRequestId(), token: newToken() };
    const key = found!.prefix + resultKey(place, 0, 'txt');
    await putObject(found!.store, key, Buffer.from('x'), 'text/plain');
    return { credential, key };
  };
  const register = (namespace: string, objects: StoredObject[], removeInMs = 0) =>
    registerObjects(harness.connection.redis, namespace, { objects, removeInMs });
  const countListed = (namespace: string) => harness.connection.redis.zcard(`w:{${namespace}}:cleanup`);
  const untilListed = (namespace: string, count: number) =>
    pollUntil(
      async () => (await countListed(namespace)) === count,
      `${count} objects in the list of ${namespace}`,
    );

  it('removes what is due from every store, and nothing else', async () => {
    const [due, later, kept] = [await put('team'), await put('team'), await put('team')];
    const customers = [await put('team', 'own'), await put('other', 'own')];
    await register('team', [due, customers[0]!]);
    await register('other', [customers[1]!]);
    await register('team', [later], 60_000);
    start();
    await untilListed('team', 1);
    await untilListed('other', 0);
    expect(harness.list(MANAGED)).to.have.members([later.key, kept.key]);
    expect(harness.list(CUSTOMER)).to.deep.equal([]);
    expect(outcomes).to.deep.equal(['removed', 'removed', 'removed']);
  });

  it('goes through hundreds of them soon', async () => {
    const place = { workspace: 'team', request: newRequestId(), token: newToken() };
    const key = (index: number) => `berth/${resultKey(place, index, 'txt')}`;
    await register(
      'team',
      Array.from({ length: 300 }, (_, index) => ({ credential: null, key: key(index) })),
    );
    start();
    await pollUntil(async () => (await countListed('team')) === 0, 'the end of the list');
  });

  it('forgets what is gone already', async () => {
    await register('team', [{ credential: null, key: `berth/${inputKey('team', newRequestId(), 'a.png')}` }]);
    start();
    await untilListed('team', 0);
  });

  it('tries again what a store did not do, once it is back', async () => {
    const object = await put('team');
    await register('team', [object]);
    harness.s3.pause();
    const other = { credential: 'gone', key: object.key };
    await register('team', [other]);
    start();
    // Objects whose store is gone do not wait for a store that hangs.
    await untilListed('team', 1);
    expect(outcomes).to.deep.equal(['dropped']);
    harness.s3.resume();
    await untilListed('team', 0);
    expect(harness.list(MANAGED)).to.deep.equal([]);
  });

  it('is held up in no workspace by a store of another that hangs', async () => {
    const stuck = await put('team', 'own');
    await register('team', [stuck]);
    const hung = await startSocketServer(() => {});
    await harness.publish('team', { endpoint: `http://127.0.0.1:${hung.port}` });
    start();
    await pollUntil(() => hung.connections > 0, 'a removal that hangs');
    const [own, others] = [await put('team'), await put('other', 'own')];
    await register('team', [own]);
    await register('other', [others]);
    await untilListed('other', 0);
    await untilListed('team', 1);
    expect(harness.list(MANAGED)).to.deep.equal([]);
    await hung.stop();
    await harness.publish('team');
    await pollUntil(async () => (await countListed('team')) === 0, 'the removal at last');
    expect(harness.list(CUSTOMER)).to.deep.equal([]);
  });

  it('leaves a store alone for longer and longer that denies', async () => {
    await register('team', [await put('team', 'own')]);
    await harness.publish('team', {}, harness.s3.createUser());
    start();
    await pollUntil(() => outcomes.length >= 3, 'three attempts');
    expect(outcomes).to.deep.equal(['failed', 'failed', 'failed']);
    expect(await countListed('team')).to.equal(1);
    await harness.publish('team');
    await untilListed('team', 0);
  });

  it('drops objects of a credential that is gone', async () => {
    const object = await put('team', 'own');
    await register('team', [object]);
    await publishCredentials(harness.connection.redis, 'team', []);
    start();
    await untilListed('team', 0);
    expect(outcomes).to.deep.equal(['dropped']);
    expect(harness.list(CUSTOMER)).to.deep.equal([object.key]);
  });

  it('removes nothing of another workspace, whatever a gateway wrote into the list', async () => {
    const object = await put('other');
    await register('team', [object]);
    start();
    await untilListed('team', 0);
    expect(outcomes).to.deep.equal(['dropped']);
    expect(harness.list(MANAGED)).to.deep.equal([object.key]);
  });

  it('goes on when Redis comes back', async () => {
    start();
    await harness.redis.kill();
    await pollUntil(() => harness.connection.state === 'away', 'the loss of Redis');
    await harness.redis.restart();
    await pollUntil(() => harness.connection.state === 'up', 'Redis');
    await loadLibrary(harness.connection.redis);
    await harness.publish('team');
    await register('team', [await put('team')]);
    await untilListed('team', 0);
  });
});
