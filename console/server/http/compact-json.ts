/** Compression and 304 responses for the API: pages poll, and most polls return unchanged data. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';

/** Smaller bodies fit in one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024;
/** Out of 11: half the size of plain JSON at a tenth of the best quality's time. */
const BROTLI_QUALITY = 4;

const compress = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
};
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } };

/** 304 if the page already has the same response, else compressed JSON. Streams and errors are unchanged. */
export const compactJSON = (): Middleware => async (ctx, next) => {
  await next();
  if (!isPlainJSON(ctx)) return;
  const text = Buffer.from(JSON.stringify(ctx.body));
  ctx.type = 'application/json; charset=utf-8';
  if (ctx.method === 'GET') {
    ctx.etag = createHash('sha256').update(text).digest('base64url');
    // ctx.fresh is false under no-store; the page caches responses in memory and sends the ETag.
    if (ctx.get('if-none-match') === ctx.response.get('etag')) {
      ctx.status = 304;
      return;
    }
  }
  await sendCompressed(ctx, text);
};

const isPlainJSON = ({ body, status }: Context): boolean =>
  status === 200 && typeof body === 'object' && body !== null && !isStreamOrBytes(body);

const isStreamOrBytes = (body: object): boolean =>
  Buffer.isBuffer(body) || 'pipe' in body || 'getReader' in body || 'arrayBuffer' in body;

async function sendCompressed(ctx: Context, text: Buffer): Promise<void> {
  ctx.vary('Accept-Encoding');
  const encoding =
    text.length < MIN_COMPRESSED_BYTES ? false : ctx.acceptsEncodings('br', 'gzip', 'identity');
  if (encoding !== 'br' && encoding !== 'gzip') {
    ctx.body = text;
    return;
  }
  ctx.body = encoding === 'br' ? await compress.br(text, BROTLI_OPTIONS) : await compress.gzip(text);
  ctx.set('content-encoding', encoding);
}
