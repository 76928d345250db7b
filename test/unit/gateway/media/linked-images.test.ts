import { EventEmitter } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import type { Allowance } from '../../../../gateway/egress/allowance.ts';
import { openBodyMemory } from '../../../../gateway/http/body-memory.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { removeFiles } from '../../../../gateway/media/form-parts.ts';
import { fetchLinks } from '../../../../gateway/media/linked-images.ts';
import { Spool } from '../../../../gateway/storage/spool.ts';
import { rejection } from '../../../support/redis-client.ts';

const BYTES = 1_000;
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(BYTES - 8)]);

describe('images that are fetched for a request', () => {
  let folder: string;
  let spool: Spool;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-links-'));
    spool = await Spool.open({ folder: join(folder, 'spool'), maxBytes: 1_000_000 });
  });
  after(() => rmSync(folder, { recursive: true }));

  /** The error, if any, and how many are in the spool afterwards; `most`: of all together. */
  async function load(count: number, { memoryBytes = 1_000_000, most = 1_000_000 } = {}) {
    const files = Array.from({ length: count }, (_, index) => {
      const path = join(folder, `link-${index}`);
      writeFileSync(path, `https://images.example.com/${index}.png`);
      const file = { path, bytes: 40, remove: async () => rmSync(path, { force: true }) };
      return { field: 'image', param: `images[${index}].image_url`, file, isLink: true };
    });
    const res = new EventEmitter() as ServerResponse;
    const req = Object.assign(new PassThrough(), { headers: {} }) as unknown as IncomingMessage;
    const exchange = new Exchange(req, res, 'id');
    const egress = {
      request: async ({ allowance }: { allowance: Allowance }) => ({
        ...{ status: 200, headers: {}, body: PNG },
        isTruncated: !allowance.take(BYTES),
      }),
    };
    const memory = openBodyMemory(memoryBytes, 0);
    const limits = { fileBytes: 10_000, multipartBodyBytes: most };
    const party = { exchange, keyHash: 'key', tenant: 'team' };
    const error = await rejection(
      fetchLinks(party, files, { egress, spool, limits, memory } as unknown as Parameters<
        typeof fetchLinks
      >[2]),
    );
    const held = readdirSync(join(folder, 'spool')).length;
    await removeFiles({ files });
    expect([spool.used, memory.used, readdirSync(folder)]).to.deep.equal([0, 0, ['spool']]);
    return { error, held, links: files.filter(({ isLink }) => isLink).length };
  }

  it('take the places of their addresses, and leave no memory in use', async () => {
    expect(await load(3)).to.deep.equal({ error: undefined, held: 3, links: 0 });
  });

  it('are refused with 503 where there is no memory for them, twice over', async () => {
    // A tenant takes at most two thirds.
    expect((await load(1, { memoryBytes: 3 * BYTES })).error).to.equal(undefined);
    const { error } = await load(1, { memoryBytes: 3 * BYTES - 3 });
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
    expect(error).to.have.nested.property('details.retryAfter', 5);
  });

  it('count together, like the files of a form', async () => {
    expect((await load(3, { most: 3 * BYTES })).error).to.equal(undefined);
    const { error } = await load(3, { most: 3 * BYTES - 1 });
    expect(error).to.include({ code: 'invalid_value', status: 400 });
    expect(String(error)).to.contain('2999 bytes for all files');
  });
});
