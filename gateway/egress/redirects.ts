/** Requests that follow redirects, of which each is checked as the first URL was. */

import type { EgressAgent, EgressAnswer, EgressRequest } from './agent.ts';
import type { Allowance } from './allowance.ts';
import { EgressError } from './egress-error.ts';

/** As the words of `redirects` in egress-error.ts have it. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FollowingRequest extends Omit<EgressRequest, 'allowance'> {
  /** Of each answer's body. */
  allowance: () => Allowance;
}

/** The deadline is that of all hops together. Throws EgressError. */
export async function requestFollowing(
  agent: Pick<EgressAgent, 'request'>,
  request: FollowingRequest,
): Promise<EgressAnswer> {
  const end = performance.now() + request.deadlineMs;
  let { url } = request;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const deadlineMs = Math.max(1, Math.ceil(end - performance.now()));
    const answer = await agent.request({ ...request, url, deadlineMs, allowance: request.allowance() });
    const next = findRedirect(answer, url);
    if (next === null) return answer;
    url = next;
  }
  throw new EgressError('redirects');
}

function findRedirect({ status, headers: { location } }: EgressAnswer, base: string): string | null {
  if (!REDIRECTS.has(status) || !location) return null;
  return URL.parse(location, base)?.href ?? location;
}
