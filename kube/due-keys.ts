/** Due keys, in two lanes: changes before resyncs. */
const LANES = ['fast', 'slow'] as const;
export type Lane = (typeof LANES)[number];

export interface DueKey {
  key: string;
  lane: Lane;
  /** When it became due. */
  since: number;
}

/** Slow keys that have waited longer get every second turn, so that a stream of changes starves none. */
const MAX_SLOW_WAIT_MS = 10_000;

/** A lane: keys by namespace, served round-robin, so that none waits for all of another's. */
class FairLane {
  /** Maps keep the order of insertion: the first namespace has the next turn, its first key has waited longest. */
  readonly #namespaces = new Map<string, Map<string, number>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#namespaces.get(namespaceOf(key))?.has(key) ?? false;
  }

  /** Adds a key that is not there yet. */
  add(key: string, now: number): void {
    const namespace = namespaceOf(key);
    if (!this.#namespaces.has(namespace)) this.#namespaces.set(namespace, new Map());
    this.#namespaces.get(namespace)!.set(key, now);
    this.#size++;
  }

  /** The key whose turn it is. */
  peek(isBusy: (key: string) => boolean): { key: string; since: number } | undefined {
    for (const keys of this.#namespaces.values())
      for (const [key, since] of keys) if (!isBusy(key)) return { key, since };
    return undefined;
  }

  /** Removes a key; with `endsTurn` its namespace moves to the end. */
  delete(key: string, endsTurn = false): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    if (!keys?.delete(key)) return;
    this.#size--;
    if (endsTurn || keys.size === 0) this.#namespaces.delete(namespace);
    if (endsTurn && keys.size > 0) this.#namespaces.set(namespace, keys);
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/') + 1);

export class DueKeys {
  readonly #lanes: Record<Lane, FairLane> = { fast: new FairLane(), slow: new FairLane() };
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
    this.#lanes[lane].delete(taken.key, true);
    return { ...taken, lane };
  }

  clear(): void {
    for (const lane of LANES) this.#lanes[lane].clear();
  }
}
