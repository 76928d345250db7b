/** The charge for synchronous images: debited before the engine starts, refunded if none was delivered. */
import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import {
  type ChargeRefusal,
  type CreditCharge,
  chargeWorkspace,
  refundWorkspace,
} from '../../redis/admission/credit.ts';
import { isRedisAway } from '../../redis/client.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { refuseCharge } from '../auth/key-scope.ts';
import { type ImageRequest, priceRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import { ORPHAN_TIMEOUT_MS } from './sync-images.ts';

/** How long a refund is retried. */
const REFUND_TIMEOUT_MS = 9 * 60_000;
/** Storing results may briefly exceed the budget, and timers are late on a busy machine. */
const MARGIN_MS = 2 * 60_000;

export class ImageCharge {
  readonly #services: MediaServices;
  readonly #bill: CreditCharge;
  #isTaken = false;

  constructor(
    request: ImageRequest,
    {
      config,
      services,
      budgets,
    }: { config: GatewayConfig; services: MediaServices; budgets: string | undefined },
  ) {
    this.#services = services;
    const maxMs = config.limits.imageTimeoutMs + ORPHAN_TIMEOUT_MS + REFUND_TIMEOUT_MS + MARGIN_MS;
    this.#bill = {
      namespace: config.namespace,
      token: randomUUID(),
      micros: Math.round(priceRequest(request, config)),
      rememberSeconds: Math.ceil(maxMs / 1_000),
      budgets,
    };
  }

  /** Debited from the workspace's credit, in whole millionths. */
  get micros(): number {
    return this.#isTaken ? this.#bill.micros : 0;
  }

  /** Throws ApiError 402 for insufficient credit or budget; Redis' error while it is down, unless the request is free. */
  async take(): Promise<void> {
    let refusal: ChargeRefusal | null;
    try {
      // Set before the call: one that timed out may have been executed.
      this.#isTaken = this.#bill.micros > 0;
      refusal = await chargeWorkspace(this.#services.redis, this.#bill);
    } catch (error) {
      if (isRedisAway(error) && this.#bill.micros === 0) return;
      throw error;
    }
    if (refusal === null) return;
    this.#isTaken = false;
    throw refuseCharge(refusal, this.#bill.micros);
  }

  /** Returns at once; retries while Redis is down. */
  refund(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    const { redis, metrics, log } = this.#services;
    retryWhileRedisDown(
      () => refundWorkspace(redis, this.#bill),
      AbortSignal.timeout(REFUND_TIMEOUT_MS),
    ).catch((error) => {
      metrics.settlementsLost.inc();
      log.error({ micros: this.#bill.micros, reason: error.message }, 'refund failed');
    });
  }
}
