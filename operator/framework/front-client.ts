/** A client of the front, the only program that connects to addresses chosen by tenants. */
import { request } from 'undici';

export interface FrontAddress {
  /** Origin of the front's internal service; undefined: there is none. */
  storageURL: string | undefined;
  /** `operatorToken`. */
  token: string;
  timeoutMs?: number;
}

/** Why there was no response: the result is unknown. */
export interface Unanswered {
  unanswered: string;
}

/** The front gives a store 20 s. */
const TIMEOUT_MS = 30_000;

export interface FrontQuestion<T> {
  path: string;
  question: object;
  isAnswer: (body: unknown) => body is T;
}

/** Throws for an aborted signal only. */
export type FrontCheck<Q extends object, T> = (question: Q, signal: AbortSignal) => Promise<T | Unanswered>;

export const createFrontCheck =
  <Q extends object, T>(
    front: FrontAddress,
    { path, isAnswer }: Omit<FrontQuestion<T>, 'question'>,
  ): FrontCheck<Q, T> =>
  (question, signal) =>
    askFront(front, { path, question, isAnswer }, signal);

async function askFront<T>(
  { storageURL, token, timeoutMs = TIMEOUT_MS }: FrontAddress,
  { path, question, isAnswer }: FrontQuestion<T>,
  signal: AbortSignal,
): Promise<T | Unanswered> {
  if (storageURL === undefined) return { unanswered: 'OPERATOR_STORAGE_URL is not set for the operator' };
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    // Not fetch, whose streams take 40 MiB of memory for thousands of responses.
    const { statusCode, body } = await request(new URL(path, storageURL), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(question),
      signal: AbortSignal.any([signal, timeout]),
    });
    const answer: unknown = await body.json().catch(() => undefined);
    if (statusCode === 200 && isAnswer(answer)) return answer;
    return { unanswered: `the front returned HTTP ${statusCode}` };
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) return { unanswered: `the front did not respond within ${timeoutMs / 1_000} s` };
    return { unanswered: `could not connect to the front (${describe(error)})` };
  }
}

function describe(error: unknown): string {
  const { code, message } = error as Error & { code?: string };
  return code ?? message;
}
