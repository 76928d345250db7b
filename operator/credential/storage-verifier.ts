/** Asks a front to try a bucket, by the rules for tenants' addresses. */
import { INTERNAL_PATHS, type VerifyAnswer, type VerifyQuestion } from '../../api/internal-api.ts';
import { askFront, type FrontAddress } from '../framework/front-question.ts';
import type { CheckAnswer } from './bucket-check.ts';

export type StorageVerifier = (question: VerifyQuestion, signal: AbortSignal) => Promise<CheckAnswer>;

/** The verifier throws for an aborted signal only. */
export function createStorageVerifier(front: FrontAddress): StorageVerifier {
  return (question, signal) => askFront(front, { path: INTERNAL_PATHS.verify, question, isAnswer }, signal);
}

function isAnswer(body: unknown): body is VerifyAnswer {
  const { verified, reason, message } = (body ?? {}) as Partial<VerifyAnswer>;
  return typeof verified === 'boolean' && typeof reason === 'string' && typeof message === 'string';
}
