/** Removes expired stored objects: abandoned uploads, inputs of ended requests, results past their retention. */
import { setTimeout as wait } from 'node:timers/promises';
import type { StoredObject } from '../../../api/request.ts';
import { isRedisAway, type RedisClient } from '../../../redis/client.ts';
import { takeDueObjects, unregisterObjects } from '../../../redis/requests/object-cleanup.ts';
import { ownsKey } from '../../storage/object-keys.ts';
import { StorageError } from '../../storage/storage-error.ts';
import type { Stores } from '../../storage/stores.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Rounds } from './rounds.ts';

export interface CleanerOptions {
  redis: RedisClient;
  stores: Pick<Stores, 'find'>;
  listWorkspaces: () => Promise<readonly string[]>;
  /** `dropped`: cannot be removed, since the keys to its store are gone. */
  onObject?: (outcome: 'removed' | 'failed' | 'dropped') => void;
  log: Logger;
  timing?: Partial<CleanerTiming>;
}

export interface CleanerTiming {
  /** Between two scans of all workspaces. */
  intervalMs: number;
  /** After this time, an object that was not removed is retried. */
  leaseMs: number;
  /** Backoff after a failure of a store: this delay, then doubled up to the maximum. */
  initialDelayMs: number;
  maxDelayMs: number;
}

const TIMING: CleanerTiming = {
  intervalMs: 2_000,
  leaseMs: 60_000,
  initialDelayMs: 10_000,
  maxDelayMs: 600_000,
};
const CLOSE_TIMEOUT_MS = 2_000;
const OBJECT_BATCH_SIZE = 50;
const MAX_QUEUE_LENGTH = 200;
const MAX_LANES = 512;
const MAX_LANES_PER_WORKSPACE = 8;

/** The work for one store of one workspace: one object at a time, so that no store is overloaded. */
interface Lane {
  queue: StoredObject[];
  isWorking: boolean;
  delayMs: number;
  /** By performance.now(). */
  notBefore: number;
}

type Lanes = Map<string | null, Lane>;

export class Cleaner {
  readonly #options: CleanerOptions;
  readonly #timing: CleanerTiming;
  readonly #rounds: Rounds;
  /** For stores that are busy or failed: namespace → credential → lane. */
  readonly #lanes = new Map<string, Lanes>();
  readonly #working = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: CleanerOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#rounds = new Rounds({
      list: options.listWorkspaces,
      visit: (namespace) => this.#visit(namespace),
      onError: (error, namespace) => {
        if (!isRedisAway(error)) options.log.error({ err: error, namespace }, 'object cleanup failed');
      },
      intervalMs: this.#timing.intervalMs,
    });
  }

  /** Waits briefly for removals in progress; another front repeats one that is interrupted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#rounds.close();
    await Promise.race([Promise.all(this.#working), wait(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
  }

  /** Queues due objects in their lanes; those that do not fit are due again after their lease. */
  async #visit(namespace: string): Promise<boolean> {
    const { redis } = this.#options;
    const { leaseMs, maxDelayMs } = this.#timing;
    const lanes: Lanes = this.#lanes.get(namespace) ?? new Map();
    for (const [credential, lane] of lanes)
      if (!lane.isWorking && performance.now() > lane.notBefore + maxDelayMs) lanes.delete(credential);
    const due = await takeDueObjects(redis, namespace, { limit: OBJECT_BATCH_SIZE, leaseMs });
    let isTaken = true;
    for (const [credential, objects] of Map.groupBy(due, (object) => object.credential)) {
      const lane = this.#findLane(lanes, credential);
      if (!lane || lane.queue.length + objects.length > MAX_QUEUE_LENGTH) {
        isTaken = false;
        continue;
      }
      lane.queue.push(...objects);
      lanes.set(credential, lane);
      if (!lane.isWorking) this.#start(namespace, lanes, credential);
    }
    if (lanes.size > 0) this.#lanes.set(namespace, lanes);
    else this.#lanes.delete(namespace);
    return isTaken && due.length === OBJECT_BATCH_SIZE;
  }

  /** A lane that may get work; null while its store backs off, or too many lanes are busy. */
  #findLane(lanes: Lanes, credential: string | null): Lane | null {
    const known = lanes.get(credential);
    if (known) return performance.now() < known.notBefore ? null : known;
    const isFull = lanes.size >= MAX_LANES_PER_WORKSPACE || this.#working.size >= MAX_LANES;
    if (isFull && credential !== null) return null;
    return { queue: [], isWorking: false, delayMs: 0, notBefore: 0 };
  }

  #start(namespace: string, lanes: Lanes, credential: string | null): void {
    const lane = lanes.get(credential)!;
    lane.isWorking = true;
    const work = this.#clean(namespace, lane).finally(() => {
      this.#working.delete(work);
      lane.queue = [];
      lane.isWorking = false;
      if (lane.delayMs > 0) return;
      lanes.delete(credential);
      if (lanes.size === 0) this.#lanes.delete(namespace);
    });
    this.#working.add(work);
  }

  async #clean(namespace: string, lane: Lane): Promise<void> {
    const { redis, log, onObject } = this.#options;
    const { credential } = lane.queue[0]!;
    try {
      for (let object = lane.queue.shift(); object && !this.#isClosed; object = lane.queue.shift()) {
        const outcome = await this.#remove(namespace, object);
        await unregisterObjects(redis, namespace, [object]);
        onObject?.(outcome);
        lane.delayMs = 0;
      }
    } catch (error) {
      if (isRedisAway(error)) return;
      onObject?.('failed');
      this.#pause(lane);
      const reason = error instanceof StorageError ? error.reason : String(error);
      log.warn({ namespace, credential, reason, delayMs: lane.delayMs }, 'object removal failed, retrying');
    }
  }

  #pause(lane: Lane): void {
    const { initialDelayMs, maxDelayMs } = this.#timing;
    lane.delayMs = Math.min(maxDelayMs, Math.max(initialDelayMs, 2 * lane.delayMs));
    lane.notBefore = performance.now() + lane.delayMs;
  }

  async #remove(namespace: string, { credential, key }: StoredObject): Promise<'removed' | 'dropped'> {
    const { stores, log } = this.#options;
    // Gateways write the list: it must not refer to others' objects.
    if (!ownsKey(namespace, key)) {
      log.warn({ namespace, key }, 'dropped an object of another workspace from cleanup');
      return 'dropped';
    }
    const found = await stores.find({ namespace, credential });
    if (!found) {
      log.warn({ namespace, credential, key }, 'object not removed: its store is no longer configured');
      return 'dropped';
    }
    await found.store.delete(key);
    return 'removed';
  }
}
