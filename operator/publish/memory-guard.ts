/** Keeps each workspace within its share of Redis' memory: its queue is refused in time, then its user is suspended. */
import { workspaceRedisUser } from '../../api/identity.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { exponentialDelay } from '../../kit/retry.ts';
import type { Log } from '../../kube/log.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { readMemoryUse, type ServerUse, weighWorkspaces } from '../../redis/workspaces/server-use.ts';
import { suspendWorkspaceUser } from '../../redis/workspaces/users.ts';
import { trimWorkspace } from '../../redis/workspaces/workspace-trim.ts';

export interface MemoryGuardSettings {
  redis: RedisClient;
  /** Share of maxmemory for one workspace. */
  sharePercent: number;
  log: Log;
  /** A workspace may no longer queue, or its user was suspended, or either has ended. */
  onChange: (namespace: string) => void;
  now?: () => number;
  intervalMs?: number;
}

/** A fast client can fill Redis within seconds. */
const CHECK_INTERVAL_MS = 250;
/** Part of its share at which Berth's own programs stop queueing: what exceeds the share was written by hand. */
const REFUSED_SHARE = 0.8;
/** Part of maxmemory below which nobody is suspended: others have enough room, and removed data may be of use. */
const SUSPENDING_USE = 0.7;
/** Part of its share to which the keys of a suspended workspace are cut. */
const KEPT_SHARE = 0.5;
/** Part of maxmemory: a change that calls for weighing again. */
const NOTABLE_CHANGE = 0.01;
const WEIGH_INTERVAL_MS = 30_000;
const SUSPENSION = { baseMs: 60_000, maxMs: 3_600_000 };

export class MemoryGuard {
  readonly #settings: MemoryGuardSettings;
  /** Workspaces whose queue is refused. */
  readonly #full = new Set<string>();
  /** Until when their users are suspended. */
  readonly #suspended = new Map<string, number>();
  /** How often each was suspended: each time lasts twice as long. */
  readonly #times = new Map<string, number>();
  #memory: ServerUse | null = null;
  #lastUsed = 0;
  #lastWeighed = 0;
  readonly #task: PeriodicTask;

  constructor(settings: MemoryGuardSettings) {
    this.#settings = settings;
    this.#task = new PeriodicTask({
      run: () => this.check(),
      intervalMs: settings.intervalMs ?? CHECK_INTERVAL_MS,
      onError: (error) => {
        if (!isRedisAway(error)) settings.log.error({ err: error }, 'Redis memory check failed');
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  async stop(): Promise<void> {
    await this.#task.stop();
  }

  /** As last read; null before. */
  get memory(): ServerUse | null {
    return this.#memory;
  }

  isSuspended(namespace: string): boolean {
    return this.#suspended.has(namespace);
  }

  /** Why nothing of this workspace can be queued; null = it can. */
  refusalOf(namespace: string): string | null {
    const { sharePercent } = this.#settings;
    if (this.#suspended.has(namespace))
      return `The workspace's Redis user is suspended: its keys used more than ${sharePercent} % of Redis memory.`;
    if (this.#full.has(namespace))
      return `The workspace has used nearly all of its ${sharePercent} % share of Redis memory.`;
    return null;
  }

  /** Measures the workspaces if the result may have changed. Throws while Redis is unavailable. */
  async check(): Promise<void> {
    const { redis, sharePercent } = this.#settings;
    this.#releaseDue();
    const { used, max } = await readMemoryUse(redis);
    this.#memory = { used, max };
    const share = (max * sharePercent) / 100;
    if (used < share * REFUSED_SHARE || max === 0) return this.#noteFull([]);
    const isChanged = Math.abs(used - this.#lastUsed) >= NOTABLE_CHANGE * max;
    if (!isChanged && this.#now() - this.#lastWeighed < WEIGH_INTERVAL_MS) return;
    const isTight = used >= max * SUSPENDING_USE;
    const isOver = (bytes: number) => bytes > share;
    // A workspace over its share is fully weighed only if the sole consequence is a refusal.
    const isEnough = isTight ? isOver : undefined;
    let weights = [...(await weighWorkspaces(redis, { isEnough }))];
    const weighed = weights.reduce((sum, [, bytes]) => sum + bytes, 0);
    // Samples may miss few long fields among many short ones, or hit just those.
    const isDoubtful = used - weighed > share || (isTight && weights.some(([, bytes]) => isOver(bytes)));
    if (isDoubtful) weights = [...(await weighWorkspaces(redis, { exactly: true, isEnough }))];
    const over = isTight ? weights.filter(([, bytes]) => isOver(bytes)) : [];
    for (const [namespace] of over) await this.#suspend(namespace, share);
    // It was ended early then, and is repeated at once.
    if (over.length > 0) return;
    this.#lastUsed = used;
    this.#lastWeighed = this.#now();
    this.#noteFull(weights.filter(([, bytes]) => bytes >= share * REFUSED_SHARE).map(([name]) => name));
  }

  async #suspend(namespace: string, share: number): Promise<void> {
    const { redis, log, onChange } = this.#settings;
    if (!this.#suspended.has(namespace)) {
      const times = (this.#times.get(namespace) ?? 0) + 1;
      this.#times.set(namespace, times);
      const durationMs = exponentialDelay(SUSPENSION, times);
      this.#suspended.set(namespace, this.#now() + durationMs);
      log.warn({ namespace, durationMs }, 'Redis user suspended: the workspace exceeded its memory share');
    }
    // Before anything else is done: it may be writing.
    await suspendWorkspaceUser(redis, workspaceRedisUser(namespace));
    onChange(namespace);
    // Fully weighed, now that nobody adds to it.
    const bytes = (await weighWorkspaces(redis, { exactly: true })).get(namespace) ?? 0;
    const freed = await trimWorkspace(redis, namespace, {
      wanted: bytes - share * KEPT_SHARE,
      // So much may be queued requests alone.
      needed: bytes - share * REFUSED_SHARE,
    });
    log.warn({ namespace, freed }, 'removed keys of a workspace that exceeded its memory share');
  }

  #releaseDue(): void {
    const due = [...this.#suspended].filter(([, until]) => until <= this.#now());
    for (const [namespace] of due) {
      this.#suspended.delete(namespace);
      this.#settings.onChange(namespace);
    }
  }

  #noteFull(names: readonly string[]): void {
    const changed = [
      ...names.filter((name) => !this.#full.has(name)),
      ...[...this.#full].filter((name) => !names.includes(name)),
    ];
    this.#full.clear();
    for (const name of names) this.#full.add(name);
    for (const name of changed) this.#settings.onChange(name);
  }

  #now(): number {
    return (this.#settings.now ?? Date.now)();
  }
}
