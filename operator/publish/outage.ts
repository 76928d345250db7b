/** Whether Redis is down, and why; reported once each way. */
import type { RedisConnection } from '../../redis/client.ts';

export class Outage {
  readonly #connection: Pick<RedisConnection, 'state' | 'reason'>;
  readonly #onChange: ((state: 'up' | 'away', reason: string) => void) | undefined;
  #reason: string | undefined;
  #isReported = false;

  constructor(
    connection: Pick<RedisConnection, 'state' | 'reason'>,
    onChange?: (state: 'up' | 'away', reason: string) => void,
  ) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  /** Undefined while Redis is available. */
  get reason(): string | undefined {
    return this.#reason;
  }

  begin(failure: string): void {
    const { state, reason } = this.#connection;
    // A command without a connection does not know the reason.
    this.#reason = reason ?? failure;
    const isKnown = state === 'up' || reason !== undefined;
    if (this.#isReported || !isKnown) return;
    this.#isReported = true;
    this.#onChange?.('away', this.#reason);
  }

  end(): void {
    if (this.#reason === undefined) return;
    this.#reason = undefined;
    if (this.#isReported) this.#onChange?.('up', '');
    this.#isReported = false;
  }
}
