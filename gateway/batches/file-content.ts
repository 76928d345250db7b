/** GET /v1/files/{id}/content: an uploaded file, or what the chunks of a batch have written, one after the other. */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Shares } from '../../kit/shares.ts';
import { type FileRecord, readParts } from '../../redis/batches/batch-files.ts';
import { decodeObject } from '../../redis/requests/object-cleanup.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { MediaServices } from '../jobs/services.ts';
import { openObject } from './stored-lines.ts';

const MAX_DOWNLOADS = 100;
/** A workspace may have twice as many as are still free. */
const processPlaces = new Shares({ total: MAX_DOWNLOADS, shareOfFree: 2 });
const IDLE_TIMEOUT_MS = 60_000;

export async function sendFile(
  services: MediaServices,
  state: GatewayState,
  file: FileRecord,
): Promise<void> {
  const { exchange } = state;
  const { namespace } = services.config(state);
  const place = processPlaces.open(namespace);
  if (!place.tryAdd(1))
    throw refuseAsUnavailable('downloads', 'Too many files are being downloaded at the moment.');
  try {
    const source = openParts(services, state, file);
    // An object that is missing is reported before the head is sent.
    const first = await source.next();
    exchange.check();
    exchange.firstByteAt = performance.now();
    exchange.res.writeHead(200, [
      ...exchange.headers,
      ...['content-type', 'application/jsonl', 'content-length', String(file.bytes)],
    ]);
    if (exchange.req.method === 'HEAD') {
      await source.return(undefined);
      exchange.res.end();
      return;
    }
    exchange.res.setTimeout(IDLE_TIMEOUT_MS, () => exchange.res.destroy());
    await pipeline(prepend(first, source), exchange.res).catch(() => {
      exchange.check();
      // The head is sent: only a broken connection tells the client.
      exchange.res.destroy();
    });
  } finally {
    place.release();
  }
}

async function* prepend(
  first: IteratorResult<Buffer, void>,
  rest: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  if (!first.done) yield first.value;
  yield* rest;
}

async function* openParts(
  services: MediaServices,
  state: GatewayState,
  file: FileRecord,
): AsyncGenerator<Buffer> {
  const { namespace } = services.config(state);
  for await (const text of listObjects(services, namespace, file)) {
    const object = decodeObject(text);
    if (!object) continue;
    const place = { namespace, object, signal: state.exchange.signal };
    const body: Readable = await openObject(services.storage, place).catch((error) => {
      state.exchange.check();
      throw error instanceof ApiError ? error : refuseStore();
    });
    yield* body as AsyncIterable<Buffer>;
  }
}

async function* listObjects(
  { redis }: MediaServices,
  namespace: string,
  { object, batch, kind, chunks }: FileRecord,
): AsyncGenerator<string> {
  if (object !== null) yield object;
  if (batch === null) return;
  for await (const part of readParts(redis, namespace, { batch, chunks })) {
    const written = kind === 'output' ? part.outputObject : part.errorObject;
    if (written !== '') yield written;
  }
}

const refuseStore = () =>
  refuseAsUnavailable('storageService', 'The store of the file cannot be reached at the moment.');
