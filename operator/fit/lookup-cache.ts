/** What is read outside of a reconciliation, in the background: whoever asked is told when it is there, or changed. */
import { LRUCache } from 'lru-cache';

interface Entry<V> {
  value: V | undefined;
  /** Unix milliseconds; from then on it is read again. */
  dueAt: number;
  isReading: boolean;
  /** Whoever asked since the last change. */
  owners: Set<string>;
}

export interface LookupOptions<V> {
  /** Says what went wrong by its value; what it throws is as if nothing was read. */
  read: (key: string) => Promise<V>;
  maxAgeMs: (value: V | undefined) => number;
  onChange: (owner: string) => void;
  /** Unix milliseconds. */
  now: () => number;
}

const MAX_ENTRIES = 2_000;
const MAX_READS = 4;

export class LookupCache<V> {
  readonly #options: LookupOptions<V>;
  readonly #entries = new LRUCache<string, Entry<V>>({ max: MAX_ENTRIES });
  readonly #waiting: (() => void)[] = [];
  #reads = 0;

  constructor(options: LookupOptions<V>) {
    this.#options = options;
  }

  /** As last read; undefined while that is under way for the first time. */
  find(key: string, owner: string): V | undefined {
    const entry = this.#entries.get(key) ?? {
      value: undefined,
      dueAt: 0,
      isReading: false,
      owners: new Set<string>(),
    };
    this.#entries.set(key, entry);
    entry.owners.add(owner);
    if (!entry.isReading && this.#options.now() >= entry.dueAt) void this.#refresh(key, entry);
    return entry.value;
  }

  async #refresh(key: string, entry: Entry<V>): Promise<void> {
    const { read, maxAgeMs, onChange, now } = this.#options;
    entry.isReading = true;
    if (this.#reads >= MAX_READS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reads++;
    const value = await read(key).catch(() => entry.value);
    this.#reads--;
    this.#waiting.shift()?.();
    const isChanged = JSON.stringify(value) !== JSON.stringify(entry.value);
    entry.value = value;
    entry.dueAt = now() + maxAgeMs(value);
    entry.isReading = false;
    if (!isChanged) return;
    const owners = [...entry.owners];
    entry.owners.clear();
    for (const owner of owners) onChange(owner);
  }
}
