/** Reads endpoint responses with a size limit and a timeout: deployments are untrusted. */
import { readBody } from '../../../kit/bounded-body.ts';
import type { EndpointAnswer } from './endpoints.ts';

/** Larger than any request record. */
const MAX_ANSWER_BYTES = 256 * 1024;
const TIMEOUT_MS = 30_000;

/** Timeout of the console's own calls. */
export const callTimeout = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

/** Returns {} for responses that are not JSON, incomplete or too large. */
export async function readEndpointJSON({ body }: Pick<EndpointAnswer, 'body'>): Promise<unknown> {
  try {
    const bytes = await readBody(body as AsyncIterable<Buffer>, MAX_ANSWER_BYTES);
    return JSON.parse(bytes.toString());
  } catch {
    return {};
  }
}
