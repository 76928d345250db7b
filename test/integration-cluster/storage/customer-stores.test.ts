import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { S3Store, type S3StoreOptions } from '../../../gateway/storage/s3-store.ts';
import { Spool, type SpooledFile } from '../../../gateway/storage/spool.ts';
import type { StorageError } from '../../../gateway/storage/storage-error.ts';
import { Uploader } from '../../../gateway/storage/uploads.ts';
import { type AnyS3Server, S3_SERVERS } from '../../support/s3-servers.ts';
import { shiftClock } from '../../support/shifted-clock.ts';
import { BUCKET, s3Options } from './stores.ts';

const LOOPBACK: EgressAgentOptions = { allow: ['127.0.0.0/8', '::1/128'], deny: [], plainHTTP: true };
const DOTTED = 'with.dots';
const MINUTE = 60_000;

for (const [name, start] of Object.entries(S3_SERVERS))
  describe(`a customer's bucket of ${name}`, () => {
    let server: AnyS3Server;
    const folder = mkdtempSync(join(tmpdir(), 'berth-customer-'));
    before(async function () {
      // The server may have to be built first.
      this.timeout(1_800_000);
      server = await start();
      await server.createBucket(BUCKET);
      await server.createBucket(DOTTED);
    });
    after(async () => {
      await server?.stop();
      rmSync(folder, { recursive: true });
    });
    afterEach(async () => {
      expect((await server.listBuckets()).sort()).to.deep.equal([BUCKET, DOTTED]);
      expect(await server.listKeys(BUCKET)).to.deep.equal([]);
    });

    const verify = async (changes: Partial<S3StoreOptions> = {}, prefix = '') => {
      const store = new S3Store({ ...s3Options(server), egress: LOOPBACK, ...changes });
      const error = await store.verify(prefix).then(
        () => null,
        (thrown: StorageError) => thrown,
      );
      store.close();
      return error?.reason ?? 'verified';
    };

    it('is verified, also below a prefix and where its name has dots', async () => {
      expect(await verify()).to.equal('verified');
      expect(await verify({}, 'berth/results/')).to.equal('verified');
      expect(await verify({ bucket: DOTTED })).to.equal('verified');
    });

    it('is not verified where it does not exist, and is not made', async () => {
      expect(await verify({ bucket: 'no-such-bucket' }, 'berth/')).to.equal('bucket');
    });

    it('is not verified with wrong keys', async () => {
      expect(await verify({ keys: { ...s3Options(server).keys, secretAccessKey: 'wrong' } })).to.equal(
        'credentials',
      );
      expect(await verify({ keys: { ...s3Options(server).keys, accessKeyId: 'NOBODY' } })).to.equal(
        'credentials',
      );
    });

    // A store that takes buckets by path would take the prefix for one.
    for (const prefix of ['', 'berth/'])
      it(`is not verified by a host that its store takes for none, with the prefix "${prefix}"`, async () => {
        const endpoint = `http://s3.localhost:${server.port}`;
        expect(await verify({ endpoint, pathStyle: false }, prefix)).to.equal('addressing');
      });

    describe('under a clock that differs from the store’s', () => {
      let restore = () => {};
      const shift = (minutes: number) => {
        restore = shiftClock(minutes * MINUTE);
      };
      afterEach(() => restore());

      for (const minutes of [-20, -12, 12, 20])
        it(`by ${minutes} minutes is not verified`, async () => {
          shift(minutes);
          expect(await verify()).to.equal('clock');
        });

      for (const minutes of [-8, 8])
        it(`by ${minutes} minutes is verified`, async () => {
          shift(minutes);
          expect(await verify()).to.equal('verified');
        });

      it('takes no result once it is 20 minutes behind, and says why', async () => {
        const file = await spoolText(folder, 'result');
        const store = new S3Store(s3Options(server));
        shift(-20);
        const grant = await store.signPut({
          key: 'late.txt',
          contentType: 'text/plain',
          contentLength: file.bytes,
          expiresInSeconds: 900,
        });
        restore();
        const uploader = new Uploader({ egress: LOOPBACK });
        const error = await uploader.upload(file, grant, { deadlineMs: 20_000 }).catch((thrown) => thrown);
        expect(error).to.include({ reason: 'clock', code: 'storage_upload_failed', isTransient: false });
        expect(error.message).to.match(/clock/);
        uploader.close();
        store.close();
      });
    });
  });

async function spoolText(folder: string, text: string): Promise<SpooledFile> {
  const spool = await Spool.open({ folder, maxBytes: 1024 });
  return spool.hold(pieces(Buffer.from(text)), { maxBytes: 1024 });
}

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
