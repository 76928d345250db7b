/** When to sample which deployments: those asleep less often, so that any number of them costs the same. No I/O. */

/** For those without replicas or demand: a request that wakes one is reported at once anyway. */
const MAX_ASLEEP_PER_SECOND = 200;

export class SamplingSchedule {
  /** When each one that is asleep is sampled next, in Unix milliseconds. */
  readonly #asleepUntil = new Map<string, number>();

  /** Those of `keys` to sample now; others are forgotten. */
  listDue(keys: ReadonlySet<string>, now: number): string[] {
    for (const key of this.#asleepUntil.keys()) if (!keys.has(key)) this.#asleepUntil.delete(key);
    return [...keys].filter((key) => now >= (this.#asleepUntil.get(key) ?? 0));
  }

  sleep(key: string, now: number): void {
    this.#asleepUntil.set(key, now);
    this.#asleepUntil.set(key, now + (1_000 * this.#asleepUntil.size) / MAX_ASLEEP_PER_SECOND);
  }

  wake(key: string): void {
    this.#asleepUntil.delete(key);
  }

  wakeAll(): void {
    this.#asleepUntil.clear();
  }
}
