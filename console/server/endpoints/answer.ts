/** What the console itself reads of an endpoint's answers: whoever answers for a deployment may send without end. */
import type { EndpointAnswer } from './endpoints.ts';

/** More than any record of a request. */
const MAX_ANSWER_BYTES = 256 * 1024;
const TIMEOUT_MS = 30_000;

/** Ends a call of the console's own. */
export const answerTimeout = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

/** {} for what is no JSON, breaks off or is too long. */
export async function readEndpointJson({ body }: Pick<EndpointAnswer, 'body'>): Promise<unknown> {
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Leaving the loop early destroys the body.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return {};
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return {};
  }
}
