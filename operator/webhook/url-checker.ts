/** Asks a front whether a tenant's URL may be called: it has the rules, and the resolver that calls use. */
import { type CheckURLAnswer, type CheckURLQuestion, INTERNAL_PATHS } from '../../api/internal-api.ts';
import { askFront, type FrontAddress } from '../framework/front-question.ts';
import type { URLAnswer } from './url-check.ts';

export type URLChecker = (question: CheckURLQuestion, signal: AbortSignal) => Promise<URLAnswer>;

/** The checker throws for an aborted signal only. */
export function createURLChecker(front: FrontAddress): URLChecker {
  return (question, signal) => askFront(front, { path: INTERNAL_PATHS.checkURL, question, isAnswer }, signal);
}

function isAnswer(body: unknown): body is CheckURLAnswer {
  const { ok, message } = (body ?? {}) as Partial<CheckURLAnswer>;
  return typeof ok === 'boolean' && typeof message === 'string';
}
