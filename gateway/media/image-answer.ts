/** Sends images: as one JSON response, or as the events that OpenAI's clients expect for `stream: true`. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageList } from '../../api/api-objects.ts';
import type { GeneratedImage } from '../engine/image-call.ts';
import { JSON_TYPE } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ImageRequest } from '../jobs/media-request.ts';

const MAX_LISTENERS = 20;

const readUnixSeconds = (): number => Math.floor(Date.now() / 1000);

export function answerLinks(exchange: Exchange, urls: readonly string[]): void {
  const list: ImageList = { created: readUnixSeconds(), data: urls.map((url) => ({ url })) };
  const text = JSON.stringify(list);
  sendHead(exchange, Buffer.byteLength(text));
  exchange.res.end(text);
}

/** Images are encoded one by one, at the client's pace. */
export async function answerInline(exchange: Exchange, images: readonly GeneratedImage[]): Promise<void> {
  const start = `{"created":${readUnixSeconds()},"data":[`;
  const before = (index: number) => `${index === 0 ? '' : ','}{"b64_json":"`;
  const after = '"}';
  const end = ']}';
  const length = images.reduce(
    (sum, { bytes }, index) => sum + before(index).length + 4 * Math.ceil(bytes.length / 3) + after.length,
    start.length + end.length,
  );
  sendHead(exchange, length);
  const pieces = function* () {
    yield start;
    for (const [index, { bytes }] of images.entries()) {
      yield before(index);
      yield bytes.toString('base64');
      yield after;
    }
    yield end;
  };
  // With the listeners of a pipeline, a response has more than Node warns of.
  exchange.res.setMaxListeners(MAX_LISTENERS);
  await pipeline(Readable.from(pieces(), { objectMode: false }), exchange.res).catch((error) => {
    exchange.check();
    throw error;
  });
}

function sendHead(exchange: Exchange, length: number): void {
  const { res, headers } = exchange;
  exchange.firstByteAt = performance.now();
  res.writeHead(200, headers.concat('content-type', JSON_TYPE, 'content-length', String(length)));
}

/** The stream has one event per image (docs/api.md, "Streaming"). */
export function answerEvents(
  exchange: Exchange,
  images: readonly GeneratedImage[],
  { parameters }: ImageRequest,
): void {
  const type = parameters.task === 'txt2img' ? 'image_generation.completed' : 'image_edit.completed';
  const stream = exchange.openStream();
  for (const { bytes, contentType } of images) {
    const event = {
      type,
      b64_json: bytes.toString('base64'),
      created_at: readUnixSeconds(),
      size: parameters.size,
      quality: 'auto',
      background: 'auto',
      output_format: contentType.slice('image/'.length),
      usage: NO_USAGE,
    };
    stream.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  stream.end();
}

/** Image engines do not count tokens. */
const NO_USAGE = {
  total_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};
