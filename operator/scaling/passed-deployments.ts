/** Tells pods that fit no node, though there is capacity, from those that wait as all others do. No I/O. */

/** One that finds no node lets others try once so many found one, over this long. */
const MIN_PASSED = 8;
const TURN_MS = 30_000;

interface Seen {
  /** `namespace/name`. */
  key: string;
  /** Deployments with equal needs compete for the same capacity. */
  need: string;
  /** How long one of its pods has been unschedulable, in milliseconds. */
  refusedMs: number;
}

/** What went to others since a deployment's pod was refused: how many found nodes, the first and the last of them when. */
interface Passed {
  count: number;
  /** Unix milliseconds. */
  first: number;
  last: number;
}

export class PassedDeployments {
  #passed = new Map<string, Passed>();

  /** Updates the state of all deployments. `found`: those of which a pod found a node since the last update. */
  update(deployments: readonly Seen[], found: ReadonlySet<string>, now: number): void {
    const passed = new Map<string, Passed>();
    for (const group of Map.groupBy(deployments, ({ need }) => need).values()) {
      const total = group.filter(({ key }) => found.has(key)).length;
      for (const { key, refusedMs } of group)
        if (refusedMs > 0) passed.set(key, this.#count(key, total - (found.has(key) ? 1 : 0), now));
    }
    this.#passed = passed;
  }

  /** The scheduler tries a pod again after ten seconds at the latest, and newer ones may come first. */
  isPassedBy(key: string): boolean {
    const { count, first, last } = this.#passed.get(key) ?? { count: 0, first: 0, last: 0 };
    return count >= MIN_PASSED && last - first > TURN_MS;
  }

  /** Its turn is over: the next one begins anew. */
  forget(key: string): void {
    this.#passed.delete(key);
  }

  #count(key: string, found: number, now: number): Passed {
    const known = this.#passed.get(key);
    // What was found since the last update may have been found before it was refused.
    if (!known) return { count: 0, first: now, last: now };
    if (found === 0) return known;
    return { count: known.count + found, first: known.count > 0 ? known.first : now, last: now };
  }
}
