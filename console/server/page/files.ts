/** The built files of the page, in memory, so that later changes to the folder do not break open pages. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import type { Context } from 'koa';

/** Best first, with the file extension of the precompressed copies. */
const ENCODINGS = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
];
/** Files with content hashes in their names. */
export const HASHED = /^\/assets\//;

export interface PageFile {
  body: Buffer;
  etag: string;
}

/** By path, such as `/assets/index-abc.js`. */
export function readPageFiles(folder: string): Map<string, PageFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = join(entry.parentPath, entry.name);
        const body = readFileSync(file);
        const etag = createHash('sha256').update(body).digest('base64url');
        return [file.slice(join(folder, '').length).replaceAll(sep, '/'), { body, etag }];
      }),
  );
}

/** False if there is no such file. */
export function sendPageFile(ctx: Context, files: ReadonlyMap<string, PageFile>): boolean {
  const plain = files.get(ctx.path);
  if (!plain || ENCODINGS.some(({ ending }) => ctx.path.endsWith(ending))) return false;
  const copies = ENCODINGS.map(({ encoding, ending }) => ({ encoding, file: files.get(ctx.path + ending) }));
  const copy = copies.find(({ encoding, file }) => file && ctx.acceptsEncodings(encoding));
  const { body, etag } = copy?.file ?? plain;
  ctx.vary('Accept-Encoding');
  ctx.set('cache-control', HASHED.test(ctx.path) ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.status = 200;
  ctx.etag = etag;
  if (ctx.fresh) {
    ctx.status = 304;
    return true;
  }
  if (copy) ctx.set('content-encoding', copy.encoding);
  ctx.type = extname(ctx.path);
  ctx.body = body;
  return true;
}
