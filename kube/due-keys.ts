/** Due keys, in two lanes: changes before resyncs. */
import { Turns } from '../kit/turns.ts';

export type Lane = 'fast' | 'slow';

export interface DueKey {
  key: string;
  lane: Lane;
  /** When it became due. */
  since: number;
}

/** Slow keys that have waited longer get every second turn, so that a stream of changes starves none. */
const MAX_SLOW_WAIT_MS = 10_000;

/** Keys take turns by namespace, so that none waits for all of another's. */
class FairLane {
  readonly #turns = new Turns<string>();
  readonly #since = new Map<string, number>();

  get size(): number {
    return this.#since.size;
  }

  has(key: string): boolean {
    return this.#since.has(key);
  }

  /** Adds a key that is not there yet. */
  add(key: string, now: number): void {
    this.#turns.add(namespaceOf(key), key);
    this.#since.set(key, now);
  }

  /** The key whose turn it is. */
  peek(isBusy: (key: string) => boolean): { key: string; since: number } | undefined {
    const key = this.#turns.next(undefined, (each) => !isBusy(each))?.item;
    return key === undefined ? undefined : { key, since: this.#since.get(key)! };
  }

  /** Ends the turn of its namespace. */
  take(key: string): void {
    this.delete(key);
    this.#turns.charge(namespaceOf(key), 1);
    if (this.size === 0) this.#turns.forgive();
  }

  delete(key: string): void {
    if (this.#since.delete(key)) this.#turns.remove(namespaceOf(key), key);
  }
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/') + 1);

const createLanes = () => ({ fast: new FairLane(), slow: new FairLane() });

export class DueKeys {
  #lanes: Record<Lane, FairLane> = createLanes();
  #lastAged = false;

  get size(): number {
    return this.#lanes.fast.size + this.#lanes.slow.size;
  }

  has(key: string): boolean {
    return this.#lanes.fast.has(key) || this.#lanes.slow.has(key);
  }

  /** Adds a key, or moves it to the fast lane; false if nothing changed. */
  add(key: string, lane: Lane, now: number): boolean {
    const { fast, slow } = this.#lanes;
    if (fast.has(key) || (lane === 'slow' && slow.has(key))) return false;
    slow.delete(key);
    this.#lanes[lane].add(key, now);
    return true;
  }

  /** Removes and returns the key whose turn it is, skipping those that are `isBusy`. */
  take(now: number, isBusy: (key: string) => boolean): DueKey | undefined {
    const { fast, slow } = this.#lanes;
    const old = slow.peek(isBusy);
    const aged = old !== undefined && !this.#lastAged && now - old.since > MAX_SLOW_WAIT_MS;
    const changed = aged ? undefined : fast.peek(isBusy);
    this.#lastAged = aged;
    const taken = changed ?? old;
    if (!taken) return undefined;
    const lane = changed ? 'fast' : 'slow';
    this.#lanes[lane].take(taken.key);
    return { ...taken, lane };
  }

  clear(): void {
    this.#lanes = createLanes();
  }
}
