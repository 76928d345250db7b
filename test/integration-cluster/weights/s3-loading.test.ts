import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { loadWeights } from '../../../weights/load.ts';
import { S3Source } from '../../../weights/s3-source.ts';
import { SourceError } from '../../../weights/source.ts';
import { type AnyS3Server, S3_SERVERS } from '../../support/s3-servers.ts';
import { shiftClock } from '../../support/shifted-clock.ts';

const PART = 5 * 1024 ** 2;
const MINUTE = 60_000;

for (const [name, start] of Object.entries(S3_SERVERS))
  describe(`weights from S3 of ${name}`, () => {
    let server: AnyS3Server;
    let folder: string;
    const signal = new AbortController().signal;

    before(async function () {
      // The server may have to be built first.
      this.timeout(1_800_000);
      server = await start();
      await server.createBucket('models');
      await server.createPublicBucket('public');
    });
    after(() => server?.stop());
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'berth-weights-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    const open = (uri: string, changes: Partial<ConstructorParameters<typeof S3Source>[0]> = {}) =>
      new S3Source({
        uri,
        endpoint: server.endpoint,
        region: server.region,
        pathStyle: true,
        keys: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
        workloadIdentity: false,
        ...changes,
      });
    const load = (uri: string, entry = 'a', source = open(uri)) =>
      loadWeights({
        cache: { folder, limitBytes: undefined },
        entry,
        source,
        pod: 'pod',
        signal,
        log: () => {},
      });
    const put = (key: string, bytes: Buffer) =>
      server.client.send(new PutObjectCommand({ Bucket: 'models', Key: key, Body: bytes }));
    const putParts = async (key: string, bytes: Buffer) => {
      const { client } = server;
      const at = { Bucket: 'models', Key: key };
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
      const Parts: { ETag: string | undefined; PartNumber: number }[] = [];
      for (let begin = 0; begin < bytes.length; begin += PART) {
        const PartNumber = begin / PART + 1;
        const Body = bytes.subarray(begin, begin + PART);
        const { ETag } = await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber, Body }));
        Parts.push({ ETag, PartNumber });
      }
      await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }));
    };
    const readLoaded = (path: string) => readFile(join(folder, 'a', 'current', path));

    it('are downloaded with all folders of a prefix, and of no other', async () => {
      const weights = randomBytes(2 * PART + 17);
      await put('tiny/config.json', Buffer.from('{}'));
      await put('tiny/encoder/config.json', Buffer.from('{"a":1}'));
      await putParts('tiny/encoder/model.safetensors', weights);
      await put('tiny-other/config.json', Buffer.from('{"other":1}'));
      expect((await load('s3://models/tiny/')).how).to.equal('downloaded');
      const current = join(folder, 'a', 'current');
      expect((await readdir(current, { recursive: true })).sort()).to.deep.equal([
        'config.json',
        'encoder',
        'encoder/config.json',
        'encoder/model.safetensors',
      ]);
      expect((await readLoaded('encoder/model.safetensors')).equals(weights)).to.equal(true);
      expect((await load('s3://models/tiny')).how).to.equal('cached');
    });

    it('are known by their checksums, and may be large and in one piece', async () => {
      const weights = randomBytes(3 * PART);
      await put('sums/plain.json', Buffer.from('{}'));
      await put('sums/whole.safetensors', weights);
      const source = open('s3://models/sums');
      const manifest = await source.list(signal);
      await source.findChecksums(manifest, signal);
      expect(manifest.files[0]?.checksum).to.deep.equal({
        kind: 'md5',
        hex: '99914b932bd37a50b983c5e7c90ae93b',
      });
      await load('s3://models/sums');
      expect((await readLoaded('whole.safetensors')).equals(weights)).to.equal(true);
    });

    it('may be one file, and are other ones once it is another', async () => {
      await put('gguf/model.gguf', Buffer.from('GGUF1'));
      const first = await load('s3://models/gguf/model.gguf');
      expect((await readLoaded('model.gguf')).toString()).to.equal('GGUF1');
      await put('gguf/model.gguf', Buffer.from('GGUF2'));
      const second = await load('s3://models/gguf/model.gguf');
      expect([second.how, second.digest === first.digest]).to.deep.equal(['downloaded', false]);
      expect((await readLoaded('model.gguf')).toString()).to.equal('GGUF2');
    });

    it('may have names with spaces, signs and letters of any language', async () => {
      const names = ['a b.json', 'ä+ö%41&=.json', '(1)/日本.json', "'quoted'.json"];
      for (const [index, each] of names.entries()) await put(`odd/${each}`, Buffer.from(String(index)));
      await load('s3://models/odd');
      for (const [index, each] of names.entries())
        expect((await readLoaded(each)).toString(), each).to.equal(String(index));
    });

    it('are read from any byte on, as a download that broke off is', async () => {
      await put('rest/model.gguf', Buffer.from('GGUF and the rest'));
      const source = open('s3://models/rest/model.gguf');
      const { files } = await source.list(signal);
      const chunks: Uint8Array[] = [];
      for await (const chunk of await source.read(files[0]!, 9, signal)) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString()).to.equal('the rest');
    });

    it('are read from a public bucket without keys, and without a look at those of the machine', async () => {
      const object = { Bucket: 'public', Key: 'tiny/config.json', ACL: server.publicACL };
      await server.client.send(new PutObjectCommand({ ...object, Body: '{"public":1}' }));
      const before = process.env;
      // Neither right nor found: whoever asks fails.
      process.env = { ...before, AWS_ACCESS_KEY_ID: 'WRONG', AWS_SECRET_ACCESS_KEY: 'wrong' };
      try {
        for (const variables of [process.env, { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true' }]) {
          process.env = variables;
          const source = open('s3://public/tiny', { keys: undefined });
          await load('s3://public/tiny', 'a', source);
          expect((await readLoaded('config.json')).toString()).to.equal('{"public":1}');
        }
      } finally {
        process.env = before;
      }
    });

    for (const minutes of [-20, 20])
      it(`are read by a machine whose clock is ${minutes} minutes off`, async () => {
        await put(`clock/${minutes}/config.json`, Buffer.from('{}'));
        const restore = shiftClock(minutes * MINUTE);
        try {
          expect((await load(`s3://models/clock/${minutes}`)).how).to.equal('downloaded');
        } finally {
          restore();
        }
      });

    it('are refused with wrong keys, and where there is nothing', async () => {
      const failure = (uri: string, keys?: { accessKeyId: string; secretAccessKey: string }) =>
        load(uri, 'b', open(uri, keys && { keys })).then(
          () => undefined,
          (error: Error) => error,
        );
      const denied = await failure('s3://models/tiny', {
        accessKeyId: 'WRONG',
        secretAccessKey: 'wrong-secret',
      });
      expect(denied).to.be.instanceOf(SourceError);
      expect(denied).to.include({ isTransient: false });
      expect(denied?.message).to.contain('answered 403').and.not.to.contain('wrong-secret');
      expect((await failure('s3://models/nothing'))?.message).to.equal('the source has no files');
    });
  });
