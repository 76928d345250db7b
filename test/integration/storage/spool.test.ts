import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { Spool } from '../../../gateway/storage/spool.ts';
import { UploadError } from '../../../gateway/storage/upload-error.ts';

const MIB = 1024 * 1024;

async function* repeat(chunk: Buffer, times: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < times; index++) yield chunk;
}

describe('a result on its way is held on disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-held-'));
  let spool: Spool;
  before(async () => {
    spool = await Spool.open({ folder, maxBytes: 64 * MIB });
  });
  after(() => rmSync(folder, { recursive: true }));

  const held = () => readdirSync(folder).length;

  it('up to a size, and leaves nothing of what is larger', async () => {
    const before = { files: held(), used: spool.used };
    const error = await spool.hold(repeat(Buffer.alloc(MIB), 3), { maxBytes: 2 * MIB }).catch((e) => e);
    expect(error).to.include({ code: 'storage_upload_failed', reason: 'tooLarge' });
    expect({ files: held(), used: spool.used }).to.deep.equal(before);
  });

  it('up to a size of all files together, whose room comes back', async () => {
    const first = await spool.hold(repeat(Buffer.alloc(MIB), 40), { maxBytes: 100 * MIB });
    const tooMuch = () => spool.hold(repeat(Buffer.alloc(MIB), 40), { maxBytes: 100 * MIB });
    expect(await tooMuch().catch((error) => error)).to.include({ reason: 'spool' });
    await first.remove();
    await first.remove();
    await (await tooMuch()).remove();
    expect(held()).to.equal(0);
  });

  it('and leaves nothing of what is given up before its file is there', async () => {
    const before = { files: held(), used: spool.used };
    const giveUp = async () => {
      const end = new AbortController();
      const source = new PassThrough().on('error', () => {});
      const result = spool.hold(source, { maxBytes: MIB, signal: end.signal });
      await new Promise<void>((resolve) => setImmediate(resolve));
      end.abort(new Error('canceled'));
      return result.catch((error) => error.message);
    };
    for (let round = 0; round < 300; round++) {
      const outcomes = await Promise.all(Array.from({ length: 8 }, giveUp));
      expect(new Set(outcomes)).to.deep.equal(new Set(['canceled']));
    }
    // Queued behind all pending work on the disk.
    await (await spool.hold(repeat(Buffer.alloc(1), 9), { maxBytes: MIB })).remove();
    expect({ files: held(), used: spool.used }).to.deep.equal(before);
  });

  it('and leaves nothing where the source fails or the caller gives up', async () => {
    const before = { files: held(), used: spool.used };
    const broken = async function* () {
      yield Buffer.alloc(MIB);
      throw new Error('engine died');
    };
    expect(await spool.hold(broken(), { maxBytes: 9 * MIB }).catch((e) => e.message)).to.equal('engine died');
    const end = new AbortController();
    const endless = async function* () {
      yield Buffer.alloc(MIB);
      end.abort(new Error('canceled'));
      yield Buffer.alloc(MIB);
      await new Promise(() => {});
    };
    const options = { maxBytes: 9 * MIB, signal: end.signal };
    expect(await spool.hold(endless(), options).catch((e) => e.message)).to.equal('canceled');
    expect({ files: held(), used: spool.used }).to.deep.equal(before);
  });

  it('and what an earlier process left there is removed', async () => {
    const other = mkdtempSync(join(tmpdir(), 'berth-held-'));
    const left = await Spool.open({ folder: other, maxBytes: MIB });
    await left.hold(repeat(Buffer.from('x'), 1), { maxBytes: MIB });
    await Spool.open({ folder: other, maxBytes: MIB });
    expect(readdirSync(other)).to.deep.equal([]);
    rmSync(other, { recursive: true });
  });

  it('gives a tenant no more than it leaves to others', async () => {
    const hold = (tenant: string, mebibytes: number) =>
      spool.hold(repeat(Buffer.alloc(MIB), mebibytes), { maxBytes: 100 * MIB, tenant });
    const first = await hold('greedy', 30);
    const refused = await hold('greedy', 10).catch((error: Error) => error);
    expect(refused).to.be.instanceOf(UploadError);
    const other = await hold('modest', 10);
    await Promise.all([first.remove(), other.remove()]);
    const again = await hold('greedy', 30);
    await again.remove();
    expect(spool.used).to.equal(0);
  });
});
