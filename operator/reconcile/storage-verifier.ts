/** Asks a front to try a bucket: it alone talks to stores, by the rules for tenants' addresses. */
import { INTERNAL_PATHS, type VerifyAnswer, type VerifyQuestion } from '../../contract/internal-api.ts';
import type { CheckAnswer } from './storage-check.ts';

export type StorageVerifier = (question: VerifyQuestion, signal: AbortSignal) => Promise<CheckAnswer>;

/** The front gives a store 20 s. */
const TIMEOUT_MS = 30_000;

export interface StorageVerifierOptions {
  /** Origin of the front's internal service; undefined: there is none. */
  storageURL: string | undefined;
  /** `operatorToken`. */
  token: string;
  timeoutMs?: number;
}

/** The verifier throws for an aborted signal only. */
export function createStorageVerifier(options: StorageVerifierOptions): StorageVerifier {
  const { storageURL, token, timeoutMs = TIMEOUT_MS } = options;
  return async (question, signal) => {
    if (storageURL === undefined) return { unanswered: 'the operator has no OPERATOR_STORAGE_URL' };
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await fetch(new URL(INTERNAL_PATHS.verify, storageURL), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(question),
        redirect: 'error',
        signal: AbortSignal.any([signal, timeout]),
      });
      const body: unknown = await answer.json().catch(() => undefined);
      if (answer.ok && isAnswer(body)) return body;
      return { unanswered: `the front answered ${answer.status}` };
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) return { unanswered: `the front did not answer within ${timeoutMs / 1_000} s` };
      return { unanswered: `the front cannot be reached (${describe(error)})` };
    }
  };
}

function isAnswer(body: unknown): body is VerifyAnswer {
  const { verified, reason, message } = (body ?? {}) as Partial<VerifyAnswer>;
  return typeof verified === 'boolean' && typeof reason === 'string' && typeof message === 'string';
}

/** fetch says what happened in the cause. */
function describe(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
