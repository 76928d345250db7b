/** Bodies of relayed requests that are kept, so that they can be sent again. */
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';

/** Kept until the response has ended. */
const SMALL_BYTES = 16 * 1024;

/**
 * A small body arrives with its head: it is complete once what has arrived is read. It stays in the request, for whoever serves that
 * where nobody takes it. Undefined: it is large, or still arriving.
 */
export async function copyArrivedBody(req: IncomingMessage): Promise<Buffer | undefined> {
  if (!(Number(req.headers['content-length']) <= SMALL_BYTES)) return undefined;
  if (!req.complete) await setImmediate();
  if (!req.complete || req.readableFlowing !== null) return undefined;
  const body: Buffer | null = req.read();
  if (!body) return undefined;
  req.unshift(body);
  return body;
}
