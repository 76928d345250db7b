/** Requests that follow redirects, each checked like the first URL. */

import type { EgressAgent, EgressAnswer, EgressRequest } from './agent.ts';
import type { Allowance } from './allowance.ts';
import { EgressError } from './egress-error.ts';

/** As in the message of `redirects` in egress-error.ts. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FollowingRequest extends Omit<EgressRequest, 'allowance'> {
  /** Budget of each response's body. */
  allowance: () => Allowance;
}

/** The deadline covers all hops together. Throws EgressError. */
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
