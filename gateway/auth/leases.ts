/** Requests that Redis counted ahead for a key, and days that are used up: what needs no call for a moment (decision 0361). No I/O. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kit/clock.ts';
import type { Admission, Lease } from '../../redis/admission/admission-calls.ts';
import type { UnsettledWatch } from '../account/settlements.ts';

const MAX_KEYS = 10_000;
/** As long as Redis grants a lease at most. */
const LEASE_MS = 100;
const REFUSED_MS = 1_000;
/** A key with fewer requests in that time costs no call less with leases. */
const LEAST_USED = 3;
/** The part of what is left of TPD or credit that may be spent without asking. */
export const SPENT_PARTS = 64;

/** `Answer`: of each request of one lease. */
export interface HeldLease<Answer> {
  answer: Answer;
  left: number;
  /** By the monotonic clock, as are all times here. */
  until: number;
  maxTokens: number;
  maxMicros: number;
  watch: UnsettledWatch;
  /** Returns requests that were not used. */
  giveBack: (requests: number) => Promise<void>;
  cancelEnd: () => void;
}

export interface KeyState<Answer> {
  /** Requests since the last time that a lease was asked for. */
  used: number;
  since: number;
  isAsking: boolean;
  lease: HeldLease<Answer> | null;
  refused: { admission: Admission; until: number } | null;
}

/** How many requests to lease: twice those of the last 100 ms, which grows quickly and wastes at most half. Pure. */
export function decideLeased({ used, since, isAsking, lease }: KeyState<unknown>, now: number): number {
  const isBusy = used >= LEAST_USED && now - since < 2 * LEASE_MS;
  return isBusy && !isAsking && !lease ? 2 * used : 0;
}

export class Leases<Answer> {
  readonly #clock: Clock;
  readonly #keys = new LRUCache<string, KeyState<Answer>>({
    max: MAX_KEYS,
    dispose: (state) => void this.#end(state),
  });
  /** Those with a lease or a refusal. */
  readonly #holding = new Set<KeyState<Answer>>();
  /** Counts changes of keys and credit; 0: changes are not heard of, so nothing is held. */
  #edition = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get edition(): number {
    return this.#edition;
  }

  /** Counts one request of the key. */
  find(sha256: string): KeyState<Answer> {
    const now = this.#clock.now();
    let state = this.#keys.get(sha256);
    if (!state) {
      state = { used: 0, since: now, isAsking: false, lease: null, refused: null };
      this.#keys.set(sha256, state);
    }
    state.used++;
    return state;
  }

  /** Uses one request of the key's lease; null: Redis must be asked. */
  take(state: KeyState<Answer>): Answer | null {
    const { lease } = state;
    if (!lease) return null;
    const { watch, until, maxTokens, maxMicros } = lease;
    const isSpent = watch.read() > maxTokens || watch.readMicros() > maxMicros;
    if (lease.left > 0 && !isSpent && this.#clock.now() < until) {
      lease.left--;
      return lease.answer;
    }
    void this.#end(state);
    return null;
  }

  /** The day's tokens are used up for certain; null: they may not be. */
  findRefused({ refused }: KeyState<Answer>): Admission | null {
    return refused && this.#clock.now() < refused.until ? refused.admission : null;
  }

  /** How many requests to lease with this one. `isAsking` is the caller's to end. */
  startAsking(state: KeyState<Answer>): number {
    if (this.#edition === 0) return 0;
    const now = this.#clock.now();
    const leased = decideLeased(state, now);
    state.isAsking ||= leased > 0;
    if (leased > 0 || now - state.since >= LEASE_MS) {
      state.used = leased > 0 ? 0 : 1;
      state.since = now;
    }
    return leased;
  }

  /** `sentAt`: when it was asked for. */
  hold(
    state: KeyState<Answer>,
    { requests, ms, creditMicros }: Lease,
    { tpd }: Admission,
    terms: { sentAt: number } & Pick<HeldLease<Answer>, 'answer' | 'watch' | 'giveBack'>,
  ): HeldLease<Answer> {
    const { sentAt, ...rest } = terms;
    const until = sentAt + ms;
    const lease = {
      ...rest,
      left: requests,
      until,
      maxTokens: (tpd.limit - tpd.used) / SPENT_PARTS,
      maxMicros: creditMicros / SPENT_PARTS,
      cancelEnd: this.#clock.after(Math.max(0, until - this.#clock.now()), () => void this.#end(state)),
    };
    state.lease = lease;
    this.#holding.add(state);
    return lease;
  }

  /**
   * Only a change of the key frees a day before it ends, and that is published. The last second is Redis' to decide. A refusal by RPM
   * or credit is not held: returned requests and refunds undo it without a message.
   */
  holdRefused(state: KeyState<Answer>, admission: Admission, sentAt: number): void {
    if (this.#edition === 0 || admission.retryAfter < 2) return;
    state.refused = { admission, until: sentAt + REFUSED_MS };
    this.#holding.add(state);
  }

  /** Keys or credit have changed, or may have: nothing that was answered before holds. */
  async drop(): Promise<void> {
    this.#edition++;
    await Promise.all([...this.#holding].map((state) => this.#end(state)));
  }

  async #end(state: KeyState<Answer>): Promise<void> {
    const { lease } = state;
    this.#holding.delete(state);
    state.lease = null;
    state.refused = null;
    if (!lease) return;
    lease.cancelEnd();
    lease.watch.close();
    if (lease.left > 0) await lease.giveBack(lease.left);
    lease.left = 0;
  }
}
