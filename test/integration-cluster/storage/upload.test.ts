import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { expect } from 'chai';
import { S3Store } from '../../../gateway/storage/s3-store.ts';
import { Spool, type SpooledFile } from '../../../gateway/storage/spool.ts';
import { Uploader } from '../../../gateway/storage/uploads.ts';
import { startSocketServer } from '../../support/loopback-server.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { headObject } from '../../support/store-objects.ts';
import { makeCertificates } from '../../support/test-certificates.ts';
import { BUCKET, s3Options } from './stores.ts';

const MIB = 1024 * 1024;
const SHORT_MS = 3_000;

async function* repeat(chunk: Buffer, times: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < times; index++) yield chunk;
}

describe('an upload from a sidecar to a real store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-upload-'));
  let uploader: Uploader;
  let small: SpooledFile;
  let large: SpooledFile;
  before(async () => {
    uploader = new Uploader({ egress: { allow: [], deny: [], plainHTTP: false }, idleMs: 400 });
    const spool = await Spool.open({ folder, maxBytes: 100 * MIB });
    small = await spool.hold(repeat(Buffer.from('hello'), 1), { maxBytes: MIB });
    large = await spool.hold(repeat(Buffer.alloc(MIB), 32), { maxBytes: 32 * MIB });
  });
  after(() => {
    uploader.close();
    rmSync(folder, { recursive: true });
  });

  let server: S3Server;
  let store: S3Store;
  beforeEach(async function () {
    this.timeout(600_000);
    server = await startS3();
    server.createBucket(BUCKET);
    store = new S3Store(s3Options(server));
  });
  afterEach(async () => {
    store.close();
    await server.stop();
  });
  const sign = (file: SpooledFile, expiresInSeconds = 60) =>
    store.signPut({
      key: 'a/0.png',
      contentType: 'image/png',
      contentLength: file.bytes,
      expiresInSeconds,
    });

  it('arrives whole', async () => {
    for (const file of [small, large]) {
      await uploader.upload(file, await sign(file), { deadlineMs: 20_000 });
      expect((await headObject(store, 'a/0.png'))?.contentLength).to.equal(file.bytes);
    }
  });

  it('arrives by TLS at a host that a tenant named and the operator allows', async () => {
    const pair = makeCertificates('DNS:store.localhost');
    const tls = createServer({ cert: pair.cert, key: pair.key }, (socket) => {
      const onward = connect(server.port, '127.0.0.1').on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => {
      tls.listen(0, '127.0.0.1', resolve);
    });
    const egress = { allow: ['127.0.0.0/8', '::1'], deny: [], plainHTTP: false, ca: pair.ca };
    const endpoint = `https://store.localhost:${(tls.address() as AddressInfo).port}`;
    const tenants = new S3Store({ ...s3Options(server), endpoint, egress });
    await tenants.verify();
    const place = { key: 'a/0.png', contentType: 'image/png', expiresInSeconds: 60 };
    const grant = await tenants.signPut({ ...place, contentLength: large.bytes });
    const trusting = new Uploader({ egress });
    await trusting.upload(large, grant, { deadlineMs: 20_000 });
    expect((await headObject(store, 'a/0.png'))?.contentLength).to.equal(large.bytes);
    const strict = new Uploader({ egress: { ...egress, ca: undefined } });
    const error = await strict.upload(large, grant, { deadlineMs: 20_000 }).catch((thrown) => thrown);
    expect(error).to.include({ reason: 'unreachable' });
    for (const each of [tenants, trusting, strict]) each.close();
    tls.close();
  });

  it('ends as "unreachable" where it was killed, and leaves no part of an object', async () => {
    const grant = await sign(large);
    await server.kill();
    const error = await uploader.upload(large, grant, { deadlineMs: 500 }).catch((thrown) => thrown);
    expect(error).to.include({ reason: 'unreachable' });
    expect(readdirSync(join(server.folder, BUCKET))).to.deep.equal([]);
  });

  it('ends as "slow" where it is frozen', async () => {
    const grant = await sign(large);
    server.pause();
    const error = await uploader.upload(large, grant, { deadlineMs: 500 }).catch((thrown) => thrown);
    expect(error).to.include({ reason: 'slow' });
    server.resume();
  });

  it('ends as "unreachable" where it is killed midway, and leaves no part of an object', async () => {
    let bytes = 0;
    const between = await startSocketServer((socket) => {
      const onward = connect(server.port, '127.0.0.1').on('error', () => socket.destroy());
      socket
        .on('error', () => onward.destroy())
        .on('data', (chunk) => {
          const isEarly = bytes <= MIB;
          bytes += chunk.length;
          if (isEarly && bytes > MIB) server.kill();
        });
      socket.pipe(onward).pipe(socket);
    });
    const through = new S3Store({ ...s3Options(server), endpoint: `http://127.0.0.1:${between.port}` });
    const place = { key: 'a/0.png', contentType: 'image/png', expiresInSeconds: 60 };
    const grant = await through.signPut({ ...place, contentLength: large.bytes });
    const error = await uploader.upload(large, grant, { deadlineMs: SHORT_MS }).catch((thrown) => thrown);
    expect(error).to.include({ reason: 'unreachable' });
    expect(bytes).to.be.above(MIB);
    const left = readdirSync(join(server.folder, BUCKET), { recursive: true, encoding: 'utf8' });
    expect(left.filter((path) => path.endsWith('.png'))).to.deep.equal([]);
    through.close();
    await between.stop();
  });
});
