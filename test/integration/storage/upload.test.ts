import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { Spool, type SpooledFile } from '../../../gateway/storage/spool.ts';
import { UploadError } from '../../../gateway/storage/upload-error.ts';
import { Uploader } from '../../../gateway/storage/uploads.ts';
import { startSocketServer } from '../../support/loopback-server.ts';
import { pollUntil } from '../../support/poll.ts';
import * as faults from './faulty-store.ts';

const MIB = 1024 * 1024;
const PUBLIC: EgressAgentOptions = { allow: [], deny: [], plainHTTP: false };
const SHORT_MS = 3_000;

async function* repeat(chunk: Buffer, times: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < times; index++) yield chunk;
}

describe('an upload from a sidecar', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-upload-'));
  let uploader: Uploader;
  let spool: Spool;
  let small: SpooledFile;
  let large: SpooledFile;
  before(async () => {
    uploader = new Uploader({ egress: PUBLIC, idleMs: 400 });
    spool = await Spool.open({ folder, maxBytes: 100 * MIB });
    small = await spool.hold(repeat(Buffer.from('hello'), 1), { maxBytes: MIB });
    large = await spool.hold(repeat(Buffer.alloc(MIB), 32), { maxBytes: 32 * MIB });
  });
  after(() => {
    uploader.close();
    rmSync(folder, { recursive: true });
  });

  const grantFor = (url: string, file: SpooledFile, isTenantHost = false) => ({
    url,
    headers: { 'content-type': 'image/png', 'content-length': String(file.bytes) },
    isTenantHost,
  });
  const upload = (url: string, file: SpooledFile, deadlineMs = SHORT_MS, isTenantHost = false) =>
    uploader.upload(file, grantFor(url, file, isTenantHost), { deadlineMs }).then(
      () => null,
      (error: UploadError) => error,
    );

  const refusals: [string, faults.Fault, string][] = [
    ['is full', faults.answerAtOnce(507), 'full'],
    ['is over its quota', faults.answerAtOnce(403, 'QuotaExceeded'), 'full'],
    ['fills up midway', faults.answerMidway(507), 'full'],
    ['is full at the end', faults.answerAtEnd(507, 'XMinioStorageFull'), 'full'],
    ['denies', faults.answerAtOnce(403, 'AccessDenied'), 'denied'],
    ['denies without a word', faults.answerAtEnd(403), 'denied'],
    ['knows no such bucket', faults.answerAtOnce(404, 'NoSuchBucket'), 'refused'],
    ['takes no object so large', faults.answerAtOnce(413), 'refused'],
    ['implements no uploads by link', faults.answerAtOnce(501, 'NotImplemented'), 'unsupported'],
    ['answers with a redirect', faults.answerAtOnce(302), 'refused'],
  ];
  for (const [what, fault, reason] of refusals)
    for (const size of ['small', 'large'])
      it(`of a ${size} file ends at once as "${reason}" where the store ${what}`, async () => {
        const store = await faults.startFaultyStore(fault);
        const error = await upload(store.url, size === 'small' ? small : large, 20_000);
        expect(error).to.be.instanceOf(UploadError);
        expect(error).to.include({ reason, code: 'storage_upload_failed' });
        expect(store.attempts).to.equal(1);
        await store.stop();
      });

  it('sends nothing of a large file to a store that denies', async () => {
    const store = await faults.startFaultyStore(faults.answerAtOnce(403, 'AccessDenied'));
    await upload(store.url, large);
    await store.stop();
    expect(store.bytes).to.be.within(1, 4_096);
  });

  const passing: [string, faults.Fault][] = [
    ['fails with 500', faults.answerAtEnd(500)],
    ['fails with 503 midway', faults.answerMidway(503)],
    ['asks to slow down', faults.answerAtOnce(429)],
    ['breaks off midway', faults.breakOffMidway],
    ['says nothing', faults.sayNothing],
  ];
  for (const [what, fault] of passing)
    it(`is tried again where the store ${what}, and succeeds`, async () => {
      const store = await faults.startFaultyStore(fault, fault, faults.answerAtEnd(200));
      expect(await upload(store.url, large, 20_000)).to.equal(null);
      // On a busy machine the last attempt may run out of its time, too.
      expect(store.attempts).to.be.at.least(3);
      await store.stop();
    });

  const lasting: [string, faults.Fault, string][] = [
    ['fails', faults.answerAtEnd(500), 'refused'],
    ['breaks off midway', faults.breakOffMidway, 'unreachable'],
    ['says nothing', faults.sayNothing, 'slow'],
    ['reads a little and no more', faults.readLittle, 'slow'],
  ];
  for (const [what, fault, reason] of lasting)
    it(`ends at its deadline as "${reason}" where the store ${what} every time`, async () => {
      const store = await faults.startFaultyStore(fault);
      const start = performance.now();
      expect(await upload(store.url, large)).to.include({ reason });
      expect((performance.now() - start) / SHORT_MS).to.be.within(0.5, 10);
      expect(store.attempts).to.be.above(1);
      await store.stop();
    });

  it('goes on by itself where the store never says that it may', async () => {
    const store = await faults.startFaultyStore(faults.skipContinue);
    const patient = new Uploader({ egress: PUBLIC });
    await patient.upload(large, grantFor(store.url, large), { deadlineMs: 20_000 });
    expect(store.attempts).to.equal(1);
    patient.close();
    await store.stop();
    expect(store.bytes).to.be.above(large.bytes);
  });

  it('gives a store up that takes nothing long before its deadline', async () => {
    const limits = { deadlineMs: 600_000, retryTimeoutMs: 500 };
    const hidden = await faults.startFaultyStore(faults.sayNothing);
    const places = ['http://127.0.0.1:1/bucket/key', hidden.url];
    const reasons = places.map((url) =>
      uploader.upload(large, grantFor(url, large), limits).then(
        () => 'stored',
        (error) => error.reason,
      ),
    );
    expect(await Promise.all(reasons)).to.deep.equal(['unreachable', 'slow']);
    await hidden.stop();
  });

  it('ends as "unreachable" where nothing listens', async () => {
    expect(await upload('http://127.0.0.1:1/bucket/key', small)).to.include({ reason: 'unreachable' });
  });

  it('ends with the reason of the one who gives it up', async () => {
    const store = await faults.startFaultyStore(faults.sayNothing);
    const canceled = new AbortController();
    const reason = new Error('canceled');
    const ended = uploader
      .upload(large, grantFor(store.url, large), { deadlineMs: 20_000, signal: canceled.signal })
      .catch((error) => error);
    await pollUntil(() => store.attempts > 0);
    canceled.abort(reason);
    expect(await ended).to.equal(reason);
    await store.stop();
  });

  it('dials no private address that a tenant named', async () => {
    const heard = await startSocketServer((socket) => socket.end());
    for (const host of ['https://127.0.0.1', 'http://127.0.0.1', 'https://a.localhost'])
      expect(await upload(`${host}:${heard.port}/b/k`, small, SHORT_MS, true), host).to.include({
        reason: 'unreachable',
      });
    expect(heard.connections).to.equal(0);
    await heard.stop();
  });
});
