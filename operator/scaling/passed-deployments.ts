/** Tells pods that fit no node, though there is capacity, from those that wait as all others do. No I/O. */

/** One that finds no node lets others try once so many found one, the first of them this long ago. */
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

/** What went to others since a deployment's pod was refused. */
interface Passed {
  count: number;
  /** When the first of them found a node, in Unix milliseconds. */
  since: number;
}

export class PassedDeployments {
  #passed = new Map<string, Passed>();

  /** Updates the state of all deployments. `found`: pods of each that found a node since the last update. */
  update(deployments: readonly Seen[], found: ReadonlyMap<string, number>, now: number): void {
    const passed = new Map<string, Passed>();
    for (const group of Map.groupBy(deployments, ({ need }) => need).values()) {
      const total = group.reduce((sum, { key }) => sum + found.get(key)!, 0);
      for (const { key, refusedMs } of group) {
        if (refusedMs === 0) continue;
        const known = this.#passed.get(key);
        // What was found since the last update may have been found before it was refused.
        const count = known ? known.count + total - found.get(key)! : 0;
        passed.set(key, { count, since: known && known.count > 0 ? known.since : now });
      }
    }
    this.#passed = passed;
  }

  /** The scheduler tries a pod again after ten seconds at the latest, and newer ones may come first. */
  isPassedBy(key: string, now: number): boolean {
    const { count, since } = this.#passed.get(key) ?? { count: 0, since: now };
    return count >= MIN_PASSED && now - since > TURN_MS;
  }
}
