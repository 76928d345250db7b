import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { loadWeights } from '../../../weights/load.ts';
import { S3Source } from '../../../weights/s3-source.ts';
import { SourceError } from '../../../weights/source.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';

const PART = 5 * 1024 ** 2;

describe('weights from S3', () => {
  let server: S3Server;
  let client: S3Client;
  let folder: string;
  const signal = new AbortController().signal;

  before(async () => {
    server = await startS3();
    server.createBucket('models');
    const { endpoint, region, accessKeyId, secretAccessKey } = server;
    const credentials = { accessKeyId, secretAccessKey };
    client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  });
  after(async () => {
    client?.destroy();
    await server?.stop();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-weights-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const open = (uri: string, keys?: { accessKeyId: string; secretAccessKey: string }) =>
    new S3Source({
      uri,
      endpoint: server.endpoint,
      region: server.region,
      pathStyle: true,
      keys: keys ?? { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
      workloadIdentity: false,
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
    client.send(new PutObjectCommand({ Bucket: 'models', Key: key, Body: bytes }));
  const putParts = async (key: string, bytes: Buffer) => {
    const at = { Bucket: 'models', Key: key };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    const Parts: { ETag: string | undefined; PartNumber: number }[] = [];
    for (let start = 0; start < bytes.length; start += PART) {
      const PartNumber = start / PART + 1;
      const Body = bytes.subarray(start, start + PART);
      const { ETag } = await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber, Body }));
      Parts.push({ ETag, PartNumber });
    }
    await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }));
  };

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
    expect((await readFile(join(current, 'encoder/model.safetensors'))).equals(weights)).to.equal(true);
    expect((await load('s3://models/tiny')).how).to.equal('cached');
  });

  it('are known by their checksums', async () => {
    await put('sums/plain.json', Buffer.from('{}'));
    const source = open('s3://models/sums');
    const manifest = await source.list(signal);
    await source.findChecksums(manifest, signal);
    expect(manifest.files[0]?.checksum).to.deep.equal({
      kind: 'md5',
      hex: '99914b932bd37a50b983c5e7c90ae93b',
    });
  });

  it('may be one file, and are other ones once it is another', async () => {
    await put('gguf/model.gguf', Buffer.from('GGUF1'));
    const first = await load('s3://models/gguf/model.gguf');
    expect((await readFile(join(folder, 'a', 'current', 'model.gguf'))).toString()).to.equal('GGUF1');
    await put('gguf/model.gguf', Buffer.from('GGUF2'));
    const second = await load('s3://models/gguf/model.gguf');
    expect([second.how, second.digest === first.digest]).to.deep.equal(['downloaded', false]);
    expect((await readFile(join(folder, 'a', 'current', 'model.gguf'))).toString()).to.equal('GGUF2');
  });

  it('are refused with wrong keys, and where there is nothing', async () => {
    const failure = (uri: string, keys?: { accessKeyId: string; secretAccessKey: string }) =>
      load(uri, 'b', open(uri, keys)).then(
        () => undefined,
        (error: Error) => error,
      );
    const denied = await failure('s3://models/tiny', {
      accessKeyId: 'WRONG',
      secretAccessKey: 'wrong-secret',
    });
    expect(denied).to.be.instanceOf(SourceError);
    expect(denied?.message).to.contain('answered 403').and.not.to.contain('wrong-secret');
    expect((await failure('s3://models/nothing'))?.message).to.equal('the source has no files');
  });
});
