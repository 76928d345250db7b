/**
 * A fake engine of videos and images and, in the same process, the bucket behind a storage service: neither makes nor keeps
 * anything, so that what is measured is the way between them. A prompt with `large` in it makes a large result.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { INTERNAL_PATHS } from '../../api/internal-api.ts';
import type { GetUrlsRequest, PutUrlsRequest, SignedPuts } from '../../gateway/storage/url-signer.ts';
import { buildImage } from './large-image.ts';

const LARGE_BYTES = Number(process.env.LARGE_BYTES);
const SMALL_BYTES = 1_000;
const IMAGE_BYTES = Number(process.env.IMAGE_BYTES);
/** Sizes of the results at these paths. */
const SIZES: Record<string, number> = {
  '/v1/videos/large/content': LARGE_BYTES,
  '/image/content': IMAGE_BYTES,
};
const IMAGE_PATH = /\/v1\/images\/(generations|edits)$/;
const origin = `http://127.0.0.1:${process.env.PORT}`;
const chunk = Buffer.alloc(64 * 1024, 'berth');

const writeImage = (bytes: number) =>
  Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: buildImage(bytes).toString('base64') }] }));
const smallImage = writeImage(SMALL_BYTES);
const largeImage = writeImage(IMAGE_BYTES);

/** When the bytes of the latest result were requested, and when the bucket had them all. */
const times = { askedMs: 0, storedMs: 0, storedBytes: 0 };
/** Sizes of stored objects, by path. */
const sizes = new Map<string, number>();

createServer((req, res) => void answer(req, res)).listen(Number(process.env.PORT), '127.0.0.1');

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { method, url = '' } = req;
  if (url === '/health') res.end('ok');
  else if (url === '/times') res.end(JSON.stringify(times));
  else if (method === 'PUT') await take(req, res);
  else if (url.endsWith('/content')) sendResult(res, SIZES[url] ?? SMALL_BYTES);
  else if (method === 'GET' && sizes.has(url)) send(res, sizes.get(url)!);
  else if (method === 'POST' && IMAGE_PATH.test(url)) await answerImage(req, res);
  else if (method === 'POST') res.end(JSON.stringify(reply(url, await buffer(req))));
  else res.end('{}');
}

function reply(url: string, body: Buffer): unknown {
  if (url === INTERNAL_PATHS.signPuts) return signPuts(JSON.parse(body.toString()));
  if (url === INTERNAL_PATHS.signGets)
    return (JSON.parse(body.toString()) as GetUrlsRequest).objects.map(
      ({ key }) => `${origin}/bucket/${key}`,
    );
  return { id: body.includes('large') ? 'large' : 'small', status: 'completed', progress: 100 };
}

const signPuts = ({ objects }: PutUrlsRequest): SignedPuts => ({
  bucket: 'bench',
  provider: null,
  puts: objects.map(({ key, contentType, contentLength }) => ({
    key,
    grant: {
      url: `${origin}/bucket/${key}`,
      headers: { 'content-type': contentType, 'content-length': String(contentLength) },
      isTenantHost: false,
    },
  })),
});

async function answerImage(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const isLarge = (await buffer(req)).includes('"prompt":"large"');
  times.askedMs = performance.now();
  res.writeHead(200, { 'content-type': 'application/json' }).end(isLarge ? largeImage : smallImage);
}

function sendResult(res: ServerResponse, bytes: number): void {
  times.askedMs = performance.now();
  send(res, bytes);
}

function send(res: ServerResponse, bytes: number): void {
  res.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes });
  let left = bytes;
  const write = () => {
    while (left > 0) {
      const part = left < chunk.length ? chunk.subarray(0, left) : chunk;
      left -= part.length;
      if (!res.write(part)) break;
    }
    if (left > 0) res.once('drain', write);
    else res.end();
  };
  write();
}

async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const part of req) bytes += part.length;
  sizes.set(req.url!, bytes);
  Object.assign(times, { storedMs: performance.now(), storedBytes: bytes });
  res.end();
}
