/** Keeps connections to Redis available: when they run low, those that never logged in are closed (decision 0195). */
import { PeriodicTask } from '../../kit/periodic-task.ts';
import type { Log } from '../../kube/log.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { closeAnonymous, readConnectionUse } from '../../redis/workspaces/server-use.ts';

export interface ConnectionGuardSettings {
  redis: RedisClient;
  log: Log;
  intervalMs?: number;
}

/** Share of maxclients. Thousands of pods may connect at once: while connections are available, slow handshakes are fine. */
const CROWDED_USE = 0.5;
const FULL_USE = 0.9;
/** A program of Berth times out by then. */
const CROWDED_AGE_SECONDS = 5;
const FULL_AGE_SECONDS = 1;
const CHECK_INTERVAL_MS = 1_000;

export class ConnectionGuard {
  readonly #settings: ConnectionGuardSettings;
  readonly #task: PeriodicTask;
  #hasFailed = false;

  constructor(settings: ConnectionGuardSettings) {
    this.#settings = settings;
    this.#task = new PeriodicTask({
      run: () => this.check(),
      intervalMs: settings.intervalMs ?? CHECK_INTERVAL_MS,
      onError: (error) => this.#report(error),
    });
  }

  start(): void {
    this.#task.start();
  }

  async stop(): Promise<void> {
    await this.#task.stop();
  }

  /** Throws while Redis is unavailable, and if it cannot close connections by age. */
  async check(): Promise<void> {
    const { redis, log } = this.#settings;
    const { used, max } = await readConnectionUse(redis);
    if (max === 0 || used < max * CROWDED_USE) return;
    const closed = await closeAnonymous(
      redis,
      used < max * FULL_USE ? CROWDED_AGE_SECONDS : FULL_AGE_SECONDS,
    );
    if (closed > 0) log.warn({ closed, used, max }, 'closed connections to Redis that never logged in');
  }

  /** Logged once: a server without support will not gain it. */
  #report(error: Error): void {
    if (isRedisAway(error) || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#settings.log.error({ err: error }, 'Redis connection check failed');
  }
}
