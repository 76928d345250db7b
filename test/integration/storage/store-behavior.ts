/** What Berth needs of any store of objects: a folder, and S3 of several servers. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import type { ObjectStore } from '../../../gateway/storage/object-store.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { Uploader } from '../../../gateway/storage/uploads.ts';
import { pollUntil } from '../../support/poll.ts';
import { PUBLIC_ONLY } from '../../support/public-egress.ts';
import { getObject, headObject, putObject, readText } from '../../support/store-objects.ts';

const MIB = 1024 * 1024;
const LARGE_BYTES = 100 * MIB;
const KEY = 'results/team-a/req_1/1/0.png';
const HELLO = Buffer.from('hello, world');
const LINK = { key: KEY, expiresInSeconds: 60 };
const GRANT = { ...LINK, contentType: 'image/png', contentLength: HELLO.length };

export interface StartedStore {
  store: ObjectStore;
  /** Keys of all objects. */
  listObjects(): Promise<string[]>;
  stop(): Promise<void>;
}

export function describeStore(name: string, start: () => Promise<StartedStore>): void {
  describe(`${name} as a store of objects`, () => {
    let started: StartedStore;
    before(async function () {
      // The S3 server may have to be built first.
      this.timeout(600_000);
      started = await start();
    });
    after(() => started?.stop());
    afterEach(() => started.store.delete(KEY));

    it('gives back what was put, and what it is', async () => {
      const { store } = started;
      await putObject(store, KEY, HELLO, 'image/png');
      const facts = { contentType: 'image/png', contentLength: HELLO.length };
      expect(await headObject(store, KEY)).to.deep.equal(facts);
      const { body, ...rest } = (await getObject(store, KEY))!;
      expect(rest).to.deep.equal(facts);
      expect(await buffer(body)).to.deep.equal(HELLO);
    });

    it('replaces an object whole', async () => {
      const { store } = started;
      await putObject(store, KEY, HELLO, 'image/png');
      await putObject(store, KEY, Buffer.from('x'), 'text/plain');
      expect(await headObject(store, KEY)).to.deep.equal({ contentType: 'text/plain', contentLength: 1 });
      await putObject(store, KEY, Buffer.alloc(0), 'text/plain');
      expect(await readText(store, KEY)).to.equal('');
    });

    it('knows nothing of what was deleted, which may be done twice', async () => {
      const { store } = started;
      await putObject(store, KEY, HELLO, 'image/png');
      await store.delete(KEY);
      await store.delete(KEY);
      expect(await headObject(store, KEY)).to.equal(null);
      expect(await getObject(store, KEY)).to.equal(null);
      expect(await started.listObjects()).to.deep.equal([]);
    });

    for (const key of ['../outside', '/etc/passwd', 'a/../../b', ''])
      it(`takes ${JSON.stringify(key)} for no key`, async () => {
        const { store } = started;
        const attempts = [
          () => putObject(store, key, HELLO, 'text/plain'),
          () => getObject(store, key),
          () => store.delete(key),
          () => store.signGet({ key, expiresInSeconds: 60 }),
          () => store.signPut({ ...GRANT, key }),
        ];
        for (const attempt of attempts)
          expect(await new Promise((resolve) => resolve(attempt())).catch((error) => error)).to.be.instanceOf(
            RangeError,
          );
      });

    describe('through links', () => {
      beforeEach(() => putObject(started.store, KEY, HELLO, 'image/png'));

      it('gives an object to anybody who has its link, without any header', async () => {
        const answer = await fetch(await started.store.signGet(LINK));
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('image/png');
        expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(HELLO);
      });

      it('gives it another type and a name to be saved by where the link says so', async () => {
        const answer = await fetch(
          await started.store.signGet({ ...LINK, contentType: 'image/webp', fileName: 'cat.webp' }),
        );
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('image/webp');
        expect(answer.headers.get('content-disposition')).to.equal('attachment; filename="cat.webp"');
        await answer.arrayBuffer();
      });

      it('gives a part of it, as players ask for', async () => {
        const headers = { range: 'bytes=7-11' };
        const answer = await fetch(await started.store.signGet(LINK), { headers });
        expect(answer.status).to.equal(206);
        expect(answer.headers.get('content-range')).to.equal(`bytes 7-11/${HELLO.length}`);
        expect(await answer.text()).to.equal('world');
      });

      it('answers 416 for a part beyond its end', async () => {
        const headers = { range: 'bytes=500-' };
        const answer = await fetch(await started.store.signGet(LINK), { headers });
        expect(answer.status).to.equal(416);
        await answer.arrayBuffer();
      });

      it('gives nothing once the link has expired', async () => {
        const link = await started.store.signGet({ ...LINK, expiresInSeconds: 2 });
        expect(await statusOf(link)).to.equal(200);
        expect(await waitForOtherStatus(link, 200)).to.equal(403);
      });

      it('answers 404 once the object is gone', async () => {
        const link = await started.store.signGet(LINK);
        await started.store.delete(KEY);
        expect(await statusOf(link)).to.equal(404);
      });

      const tampered: Record<string, (link: string) => string> = {
        'another key': (link) => link.replace('/0.png', '/1.png'),
        'a later end': (link) => link.replace(/((?:X-Amz-E|e)xpires=)(\d+)/, '$19999999999'),
        'another signature': (link) =>
          link.replace(/(signature=)(.)/i, (_, head, first) => head + (first === '0' ? '1' : '0')),
        'no signature': (link) => link.replace(/&[^&]*signature=[^&]*/i, ''),
        'no query': (link) => link.replace(/\?.*/, ''),
      };
      for (const [what, change] of Object.entries(tampered))
        it(`gives nothing to a link with ${what}`, async () => {
          await putObject(started.store, KEY.replace('0.png', '1.png'), HELLO, 'image/png');
          const link = await started.store.signGet(LINK);
          expect(change(link)).not.to.equal(link);
          expect(await statusOf(change(link))).to.be.oneOf([400, 403]);
          await started.store.delete(KEY.replace('0.png', '1.png'));
        });

      it('takes no upload by a link for reading, and reads nothing by one for an upload', async () => {
        const link = await started.store.signGet(LINK);
        expect(await statusOf(link, { method: 'PUT', body: 'x' })).to.equal(403);
        const { url } = await started.store.signPut(GRANT);
        expect(await statusOf(url)).to.equal(403);
        expect(await readText(started.store, KEY)).to.equal(HELLO.toString());
      });
    });

    describe('for an upload', () => {
      const put = (url: string, body: string | Buffer<ArrayBuffer>, type = 'image/png') =>
        statusOf(url, { method: 'PUT', body, headers: { 'content-type': type } });

      it('takes exactly what the link was signed for', async () => {
        const { url, headers } = await started.store.signPut(GRANT);
        expect(headers).to.deep.equal({
          'content-type': 'image/png',
          'content-length': String(HELLO.length),
        });
        expect(await put(url, HELLO)).to.equal(200);
        expect(await headObject(started.store, KEY)).to.deep.equal({
          contentType: 'image/png',
          contentLength: HELLO.length,
        });
      });

      it('takes no other length, no other type and nothing under another key', async () => {
        const { url } = await started.store.signPut(GRANT);
        expect(await put(url, 'longer than what was signed for'), 'longer').to.equal(403);
        expect(await put(url, 'less'), 'shorter').to.equal(403);
        expect(await put(url, HELLO, 'text/html'), 'type').to.equal(403);
        expect(await put(url.replace('/0.png', '/9.png'), HELLO), 'key').to.equal(403);
        expect(await started.listObjects()).to.deep.equal([]);
      });

      it('takes nothing once the link has expired', async () => {
        const { url } = await started.store.signPut({ ...GRANT, expiresInSeconds: 1 });
        const options = { method: 'PUT', body: HELLO, headers: { 'content-type': 'image/png' } };
        expect(await waitForOtherStatus(url, 200, options)).to.equal(403);
      });

      it('takes 100 MiB in constant memory', async function () {
        this.timeout(120_000);
        const folder = await mkdtemp(join(tmpdir(), 'berth-spool-'));
        const uploader = new Uploader({ egress: PUBLIC_ONLY });
        try {
          const spool = await Spool.open({ folder, maxBytes: LARGE_BYTES });
          const watch = watchMemory();
          const file = await spool.hold(makeChunks(), { maxBytes: LARGE_BYTES });
          const grant = await started.store.signPut({ ...GRANT, contentLength: file.bytes });
          await uploader.upload(file, grant, { deadlineMs: 60_000 });
          const grown = watch.stop();
          this.test!.title += ` (grew by ${Math.round(grown / MIB)} MiB)`;
          expect(grown / LARGE_BYTES).to.be.below(0.75);
          const object = (await getObject(started.store, KEY))!;
          expect(object.contentLength).to.equal(LARGE_BYTES);
          expect(await isSame(object.body, createReadStream(file.path))).to.equal(true);
        } finally {
          uploader.close();
          await rm(folder, { recursive: true });
        }
      });
    });
  });
}

async function statusOf(url: string, options?: RequestInit): Promise<number> {
  const answer = await fetch(url, options);
  await answer.arrayBuffer();
  return answer.status;
}

async function waitForOtherStatus(url: string, status: number, options?: RequestInit): Promise<number> {
  let current = status;
  await pollUntil(async () => {
    current = await statusOf(url, options);
    return current !== status;
  }, `another status than ${status}`);
  return current;
}

/** Each MiB differs from the others; none takes memory of its own. */
async function* makeChunks(): AsyncGenerator<Buffer> {
  const pattern = randomBytes(2 * MIB);
  for (let index = 0; index < LARGE_BYTES / MIB; index++) yield pattern.subarray(index, index + MIB);
}

async function isSame(one: AsyncIterable<Uint8Array>, other: AsyncIterable<Uint8Array>): Promise<boolean> {
  const hashes = await Promise.all(
    [one, other].map(async (chunks) => {
      const hash = createHash('sha256');
      for await (const chunk of chunks) hash.update(chunk);
      return hash.digest('hex');
    }),
  );
  return hashes[0] === hashes[1];
}

function watchMemory(): { stop(): number } {
  const start = process.memoryUsage.rss();
  let highest = start;
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 20);
  return {
    stop: () => {
      clearInterval(timer);
      return highest - start;
    },
  };
}
