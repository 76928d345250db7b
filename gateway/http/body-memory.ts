/** The memory budget for request bodies of a process, shared fairly between tenants. */
import { getHeapStatistics } from 'node:v8';

export interface BodyMemoryOptions {
  /** Limit of all bodies at once. */
  totalBytes: number;
  /** How long a body waits for memory. */
  waitMs: number;
}

interface Waiting {
  lease: BodyLease;
  bytes: number;
  resolve(hasMemory: boolean): void;
  timer: NodeJS.Timeout;
}

/** A tenant may hold this multiple of what is free: it never takes all, and the less is free, the less it may take. */
const SHARE_OF_FREE = 2;

export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  readonly #held = new Map<string, number>();
  #used = 0;
  #waiting: Waiting[] = [];

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
  }

  /** Bytes held. */
  get used(): number {
    return this.#used;
  }

  /** The largest body that fits when nothing else is held. */
  get maxBodyBytes(): number {
    return Math.floor((this.#options.totalBytes * SHARE_OF_FREE) / (1 + SHARE_OF_FREE));
  }

  /** A lease that holds nothing yet. `tenant`: whose share it counts toward. */
  open(tenant: string): BodyLease {
    return new BodyLease(this, tenant);
  }

  /** Whether there is memory, at once or within the waiting time; false also for a released lease. */
  take(lease: BodyLease, bytes: number): boolean | Promise<boolean> {
    if (this.tryTake(lease, bytes)) return true;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        lease,
        bytes,
        resolve,
        timer: setTimeout(abandon, this.#options.waitMs, this),
      };
      function abandon(memory: BodyMemory) {
        memory.#waiting = memory.#waiting.filter((other) => other !== waiting);
        resolve(false);
      }
      this.#waiting.push(waiting);
    });
  }

  /** Whether there is memory now. */
  tryTake(lease: BodyLease, bytes: number): boolean {
    const hasMemory = this.#hasMemory(lease.tenant, bytes);
    if (hasMemory) this.#hold(lease, bytes);
    return hasMemory;
  }

  /** Ends the lease: frees what it holds and refuses what it waits for. */
  release(lease: BodyLease): void {
    this.#hold(lease, -lease.bytes);
    for (const waiting of this.#waiting.filter((each) => each.lease === lease)) this.#end(waiting, false);
    // In order of arrival; a tenant over its share does not block others.
    for (const waiting of [...this.#waiting]) {
      if (!this.#hasMemory(waiting.lease.tenant, waiting.bytes)) continue;
      this.#hold(waiting.lease, waiting.bytes);
      this.#end(waiting, true);
    }
  }

  #end(waiting: Waiting, hasMemory: boolean): void {
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    clearTimeout(waiting.timer);
    waiting.resolve(hasMemory);
  }

  #hasMemory(tenant: string, bytes: number): boolean {
    const free = this.#options.totalBytes - this.#used - bytes;
    return free >= 0 && (this.#held.get(tenant) ?? 0) + bytes <= SHARE_OF_FREE * free;
  }

  #hold(lease: BodyLease, bytes: number): void {
    lease.bytes += bytes;
    this.#used += bytes;
    const held = (this.#held.get(lease.tenant) ?? 0) + bytes;
    if (held === 0) this.#held.delete(lease.tenant);
    else this.#held.set(lease.tenant, held);
  }
}

/** What one body holds. */
export class BodyLease {
  readonly tenant: string;
  readonly #memory: BodyMemory;
  /** Changed by its memory alone. */
  bytes = 0;
  #isReleased = false;

  constructor(memory: BodyMemory, tenant: string) {
    this.#memory = memory;
    this.tenant = tenant;
  }

  /** Grows it to `bytes` in total; false if there is no memory within the waiting time. */
  grow(bytes: number): boolean | Promise<boolean> {
    if (this.#isReleased) return false;
    return bytes <= this.bytes || this.#memory.take(this, bytes - this.bytes);
  }

  /** Grows it; false if there is no memory now. */
  tryAdd(bytes: number): boolean {
    return !this.#isReleased && this.#memory.tryTake(this, bytes);
  }

  /** May be called more than once. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#memory.release(this);
  }
}

const MIB = 1024 * 1024;
const WAIT_MS = 5_000;
/** For a heap without an explicit limit, as on a developer's machine. */
const MAX_HEAP_BYTES = 768 * MIB;
const heapBytes = Math.min(getHeapStatistics().heap_size_limit, MAX_HEAP_BYTES);

/**
 * Bodies are kept outside the heap, in the container's memory: a third of the heap's size leaves room for the heap itself, in
 * which they are parsed.
 */
export const processBodies = new BodyMemory({ totalBytes: Math.floor(heapBytes / 3), waitMs: WAIT_MS });

/** What bodies are parsed into, until it is interpreted. A body of each tenant is parsed at a time, in turns. */
export const parsedValues = new BodyMemory({ totalBytes: Math.floor(heapBytes / 6), waitMs: WAIT_MS });
