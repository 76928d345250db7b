import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { DownloadError, holdObject } from '../../../gateway/storage/download.ts';
import { inputKey, resultKey } from '../../../gateway/storage/object-keys.ts';
import type { SpooledFile } from '../../../gateway/storage/spool.ts';
import { UploadError } from '../../../gateway/storage/upload-error.ts';
import { type FilesToStore, storeFiles } from '../../../gateway/storage/uploads.ts';
import { takeDueObjects } from '../../../redis/requests/object-cleanup.ts';
import { startSocketServer } from '../../support/loopback-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';
import { newRequestId, newToken } from '../../support/request-fixture.ts';
import { putObject } from '../../support/store-objects.ts';
import { CUSTOMER, holdText, MANAGED, type StorageHarness, startStorage } from './storage-harness.ts';

const MIB = 1024 * 1024;

describe('files of a request', () => {
  let harness: StorageHarness;
  let files: SpooledFile[];
  beforeEach(async function () {
    this.timeout(600_000);
    harness = await startStorage({ bucket: { prefix: 'berth/' } });
    await harness.publish('team');
    files = await Promise.all(
      ['one', 'two', 'three', 'four', 'five', 'six'].map((text) => holdText(harness, text)),
    );
  });
  afterEach(() => harness?.stop());

  const describeFiles = (held: readonly SpooledFile[]) => {
    const place = { workspace: 'team', request: newRequestId(), token: newToken() };
    return held.map((file, index) => ({
      file,
      key: resultKey(place, index, 'txt'),
      contentType: 'text/plain',
    }));
  };
  const services = () => ({
    urlSigner: harness.remote('team'),
    uploader: harness.storage.services.uploader,
    redis: harness.connection.redis,
  });
  const store = (more: Partial<FilesToStore> = {}) =>
    storeFiles(services(), {
      namespace: 'team',
      credential: null,
      files: describeFiles(files),
      removeInMs: 60_000,
      deadlineMs: 10_000,
      ...more,
    });
  const countRegistered = () => harness.connection.redis.zcard('w:{team}:cleanup');

  for (const [credential, bucket, prefix, provider] of [
    [null, MANAGED, 'berth/', null],
    ['own', CUSTOMER, '', 's3'],
  ] as const)
    it(`are stored in the bucket ${bucket}, in their order, and registered for removal`, async () => {
      const described = describeFiles(files);
      const stored = await store({ credential, files: described, removeInMs: 0 });
      expect(stored).to.include({ bucket, provider });
      expect(stored.objects).to.deep.equal(described.map(({ key }) => ({ credential, key: prefix + key })));
      expect(harness.list(bucket)).to.have.length(6);
      const due = await takeDueObjects(harness.connection.redis, 'team', { limit: 10, leaseMs: 1_000 });
      expect(due).to.have.deep.members(stored.objects);
    });

  it('are registered before the first of them is uploaded', async () => {
    harness.s3.pause();
    const stored = store();
    await pollUntil(async () => (await countRegistered()) === 6, 'the registration');
    expect(harness.list(MANAGED)).to.deep.equal([]);
    harness.s3.resume();
    await stored;
    expect(harness.list(MANAGED)).to.have.length(6);
  });

  it('are not uploaded where Redis cannot note them', async () => {
    harness.redis.pause();
    const error = await rejection(store());
    harness.redis.resume();
    expect(error).to.be.instanceOf(Error);
    expect(harness.list(MANAGED)).to.deep.equal([]);
  });

  const troubles: [string, () => void | Promise<void>, string][] = [
    ['hangs', () => harness.s3.pause(), 'slow'],
    ['is killed', () => harness.s3.kill(), 'unreachable'],
  ];
  for (const [what, cause, reason] of troubles)
    it(`end as storage_upload_failed, "${reason}", where the store ${what}`, async () => {
      await cause();
      const error = await rejection(store({ deadlineMs: 1_000 }));
      expect(error).to.be.instanceOf(UploadError).and.include({ reason, code: 'storage_upload_failed' });
      expect(await countRegistered()).to.equal(6);
    });

  it('end as storage_upload_failed, "denied", where the keys of a customer’s bucket may not write', async () => {
    await harness.publish('team', {}, harness.s3.createUser());
    const error = await rejection(store({ credential: 'own' }));
    expect(error).to.be.instanceOf(UploadError).and.include({ reason: 'denied' });
  });

  it('end with the reason of the one who gives them up', async () => {
    harness.s3.pause();
    const reason = new Error('canceled');
    const given = new AbortController();
    const ended = rejection(store({ signal: given.signal }));
    await pollUntil(async () => (await countRegistered()) === 6, 'the registration');
    given.abort(reason);
    expect(await ended).to.equal(reason);
    harness.s3.resume();
  });

  const fronts: [string, (socket: Socket) => void][] = [
    ['breaks connections off', (socket) => void socket.destroy()],
    ['hangs', () => {}],
  ];
  for (const [what, meet] of fronts)
    it(`are stored by the help of another front where the first one ${what}`, async () => {
      let connections = 0;
      const balancer = await startSocketServer((socket) => {
        if (++connections < 3) return meet(socket);
        const onward = connect(Number(new URL(harness.origin).port), '127.0.0.1');
        for (const each of [socket, onward]) each.on('error', () => {});
        socket.pipe(onward).pipe(socket);
      });
      const url = `http://127.0.0.1:${balancer.port}`;
      const urlSigner = harness.remote('team', { url, timeoutMs: 2_000 });
      const question = { namespace: 'team', credential: null, files: describeFiles(files) };
      await storeFiles({ ...services(), urlSigner }, { ...question, removeInMs: 60_000, deadlineMs: 60_000 });
      expect(connections).to.equal(3);
      expect(harness.list(MANAGED)).to.have.length(6);
      await balancer.stop();
    });

  describe('that a worker reads back', () => {
    const [object] = [{ credential: null, key: `berth/${inputKey('team', 'req_1', 'a.png')}` }];
    const hold = (more: Partial<Parameters<typeof holdObject>[1]> = {}) =>
      holdObject(
        { urlSigner: harness.remote('team'), spool: harness.storage.services.spool },
        { namespace: 'team', object: object!, maxBytes: MIB, deadlineMs: 10_000, ...more },
      );
    const put = async (content: Buffer) => {
      const found = await harness.storage.stores.find({ namespace: 'team', credential: null });
      await putObject(found!.store, object!.key, content, 'image/png');
    };

    it('are written to disk unchanged', async () => {
      const content = Buffer.alloc(300_000, 'x');
      await put(content);
      const file = await hold();
      expect(readFileSync(file.path).equals(content)).to.equal(true);
      expect(file.bytes).to.equal(content.length);
      await file.remove();
    });

    it('are distinguished from those that are gone', async () => {
      const error = await rejection(hold());
      expect(error).to.be.instanceOf(DownloadError).and.include({ isGone: true });
    });

    it('end at their deadline where the store hangs, and leave nothing on disk', async () => {
      await put(Buffer.from('x'));
      const { used } = harness.storage.services.spool;
      harness.s3.pause();
      const error = await rejection(hold({ deadlineMs: 500 }));
      expect(error).to.be.instanceOf(DownloadError).and.include({ isGone: false });
      expect(harness.storage.services.spool.used).to.equal(used);
      harness.s3.resume();
    });

    it('are rejected if they are larger than declared', async () => {
      await put(Buffer.alloc(2 * MIB));
      expect(await rejection(hold()))
        .to.be.instanceOf(UploadError)
        .and.include({ reason: 'tooLarge' });
    });
  });
});
