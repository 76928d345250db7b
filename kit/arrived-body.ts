/** Small bodies of requests: they arrive with their head, and need neither listeners nor a deadline. */
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';

const SMALL_BYTES = 16 * 1024;

/**
 * Undefined: it is empty or large, is still arriving, or somebody reads it already. Node parses what came with the head after microtasks
 * and next ticks.
 */
export async function readArrivedBody(req: IncomingMessage): Promise<Buffer | undefined> {
  if (!(Number(req.headers['content-length']) <= SMALL_BYTES) || req.readableFlowing !== null)
    return undefined;
  if (!req.complete) await setImmediate();
  if (!req.complete || req.readableFlowing !== null) return undefined;
  return (req.read() as Buffer | null) ?? undefined;
}

/** The same, so that it can be sent again: it stays in the request, for whoever serves that where nobody takes it. */
export async function copyArrivedBody(req: IncomingMessage): Promise<Buffer | undefined> {
  const body = await readArrivedBody(req);
  if (body) req.unshift(body);
  return body;
}
