/** Background lookups outside of reconciliation: owners are notified when a result arrives or changes. */
import { ConcurrencyLimit } from '../../kit/concurrency-limit.ts';

interface Entry<V> {
  value: V | undefined;
  /** Unix milliseconds; from then on it is read again. */
  dueAt: number;
  isReading: boolean;
  /** Owners whose last lookup this was. */
  owners: Set<string>;
}

export interface LookupOptions<V> {
  /** Reports errors in its value; a throw counts as no result. */
  read: (key: string) => Promise<V>;
  maxAgeMs: (value: V | undefined) => number;
  /** Whether to keep a value when a later one is worse. */
  isKnown?: (value: V) => boolean;
  onChange: (owner: string) => void;
  /** Unix milliseconds. */
  now: () => number;
}

const MAX_READS = 4;

/** Holds at most one result per owner: that of its last lookup, until the owner is forgotten. */
export class LookupCache<V> {
  readonly #options: LookupOptions<V>;
  readonly #entries = new Map<string, Entry<V>>();
  /** By owner. */
  readonly #keys = new Map<string, string>();
  readonly #reads = new ConcurrencyLimit(MAX_READS);

  constructor(options: LookupOptions<V>) {
    this.#options = options;
  }

  /** As last read; undefined during the first read. */
  find(key: string, owner: string): V | undefined {
    if (this.#keys.get(owner) !== key) this.forget(owner);
    this.#keys.set(owner, key);
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

  /** Forgets the owner; results without owners are dropped. */
  forget(owner: string): void {
    const key = this.#keys.get(owner);
    if (key === undefined) return;
    this.#keys.delete(owner);
    const entry = this.#entries.get(key)!;
    entry.owners.delete(owner);
    if (entry.owners.size === 0) this.#entries.delete(key);
  }

  async #refresh(key: string, entry: Entry<V>): Promise<void> {
    entry.isReading = true;
    await this.#reads.run(async () => {
      // It may have been dropped meanwhile.
      if (this.#entries.get(key) === entry) await this.#read(key, entry);
    });
  }

  async #read(key: string, entry: Entry<V>): Promise<void> {
    const { read, maxAgeMs, isKnown = () => true, onChange, now } = this.#options;
    const { value: before, dueAt } = entry;
    const after = await read(key).catch(() => undefined);
    const isKept = before !== undefined && (after === undefined || (isKnown(before) && !isKnown(after)));
    entry.value = isKept ? before : after;
    entry.dueAt = now() + maxAgeMs(after);
    entry.isReading = false;
    if (this.#entries.get(key) !== entry) return;
    const isChanged = dueAt === 0 || JSON.stringify(entry.value) !== JSON.stringify(before);
    if (isChanged) for (const owner of [...entry.owners]) onChange(owner);
  }
}
