/** One attempt to deliver an event (docs/api.md, "Webhooks"). */

import type { SigningSecrets } from '../../api/signing-secret.ts';
import { writeDeliveryHeaders } from '../../api/webhook-headers.ts';
import type { Attempt, LeasedDelivery } from '../../redis/deliveries/delivery-calls.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { Allowance } from '../egress/allowance.ts';
import { EgressError } from '../egress/egress-error.ts';
import { keepAnswerHeaders } from './answer-headers.ts';
import { signDelivery, signMessage } from './signature.ts';

export interface AttemptTiming {
  /** The longest attempt, from the DNS lookup to the response. */
  attemptMs: number;
  /** From a failed attempt (1 to 3) to the next one, or to the final failure. */
  waitAfter: (attempt: number) => number;
}

/** 2, 4 and 8 seconds; the last one precedes the final failure. */
export const DELIVERY_TIMING: AttemptTiming = {
  attemptMs: 5_000,
  waitAfter: (attempt) => 1_000 * 2 ** attempt,
};
/** A short answer is read, so that its connection can be used again; only its head matters. */
const MAX_ANSWER_BYTES = 4 * 1024;

export interface AttemptOptions {
  agent: Pick<EgressAgent, 'request'>;
  /** Read for this attempt, so that a rolled secret applies at once; null = there is none. */
  secret: SigningSecrets | null;
  /** Unix milliseconds. */
  now: number;
  timing: AttemptTiming;
}

/** Never throws: failures are returned as the outcome, described for the log. */
export async function attemptDelivery(
  delivery: LeasedDelivery,
  { agent, secret, now, timing }: AttemptOptions,
): Promise<Attempt> {
  const fail = (error: string, exchange: Pick<Attempt, 'status' | 'exchange'>): Attempt => ({
    isDelivered: false,
    error,
    waitMs: timing.waitAfter(delivery.attempt),
    ...exchange,
  });
  if (secret === null) return fail('there is no readable signing secret', { status: null, exchange: null });
  const body = Buffer.from(delivery.body);
  const startedAt = performance.now();
  const describe = (answerHeaders: Record<string, string>): Attempt['exchange'] => ({
    sentAt: now,
    tookMs: Math.round(performance.now() - startedAt),
    answerHeaders,
  });
  try {
    const { status, headers } = await agent.request({
      url: delivery.url,
      method: 'POST',
      headers: writeDeliveryHeaders({
        ...delivery,
        timestamp: Math.floor(now / 1_000),
        serviceSignature: signDelivery(body, secret, now),
        standardSignature: signMessage({ id: delivery.eventId, body }, secret, now),
      }),
      body,
      deadlineMs: timing.attemptMs,
      allowance: new Allowance(MAX_ANSWER_BYTES),
      isStatusEnough: true,
    });
    const exchange = describe(keepAnswerHeaders(headers));
    if (status >= 200 && status < 300) return { isDelivered: true, status, error: '', waitMs: 0, exchange };
    const hint = status >= 300 && status < 400 ? '; redirects are not followed' : '';
    return fail(`answered ${status}${hint}`, { status, exchange });
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    return fail(`the URL ${error.message}`, { status: null, exchange: describe({}) });
  }
}
