/** Bodies of relayed requests that are kept, so that they can be sent again. */
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';

/** Kept until the response has ended. */
const SMALL_BYTES = 16 * 1024;

/** A small body arrives with its head: it is complete once what has arrived is read. Undefined: it is large, or still arriving. */
export async function takeArrivedBody(req: IncomingMessage): Promise<Buffer | undefined> {
  if (!(Number(req.headers['content-length']) <= SMALL_BYTES)) return undefined;
  await setImmediate();
  return req.complete && req.readableFlowing === null ? (req.read() ?? undefined) : undefined;
}
