/** Which deployments may probe for capacity while GPUs of a kind are scarce: a few at a time, chosen fairly. No I/O. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { decideAccelerators } from '../resources/accelerators.ts';
import { orderFairly, type Waiting } from './fairness.ts';
import { PassedDeployments } from './passed-deployments.ts';
import { unschedulableMs } from './pods.ts';

/** Pods that may be pending at once, per kind of GPU, while none finds a node; other deployments wait for their turn. */
const MAX_PROBES = 8;
/** Of these, per workspace: its pods may fit no node at all. */
const MAX_WORKSPACE_PROBES = 2;
/** One that finds no node for this long lets others try, for the pods of all probes may fit no node although there is capacity. */
const MAX_TURN_MS = 300_000;

/** A deployment as it stands. */
export interface Placement {
  /** `namespace/name`. */
  key: string;
  namespace: string;
  /** What its pods need of a node (`describeCapacityNeed`): equal needs compete for the same capacity. */
  need: string;
  /** Pods on nodes. */
  placed: number;
  /** How long one of its pods has been unschedulable, in milliseconds. */
  refusedMs: number;
  /** Unix milliseconds since when it needs more than it has on nodes; undefined while it does not. */
  waitingSince: number | undefined;
}

/** The scheduler may need a moment although there is capacity. */
const SCARCE_AFTER_MS = 10_000;

/** Each version of a spec is one object. */
const described = new WeakMap<ModelDeploymentSpec, string>();

/** Kind and number of GPUs on one node, and node selection: there may be capacity for one of these and none for another. */
export function describeCapacityNeed(spec: ModelDeploymentSpec): string {
  const known = described.get(spec);
  if (known !== undefined) return known;
  const { resourceName, count } = decideAccelerators(spec);
  const need = JSON.stringify([resourceName, count, Object.entries(spec.template.nodeSelector ?? {}).sort()]);
  described.set(spec, need);
  return need;
}

export function describePlacement(
  key: string,
  { metadata, spec }: ModelDeployment,
  seen: { pods: readonly V1Pod[]; deployment: Pick<Placement, 'waitingSince'>; now: number },
): Placement {
  return {
    key,
    namespace: metadata.namespace,
    need: describeCapacityNeed(spec),
    placed: seen.pods.filter((pod) => pod.spec?.nodeName !== undefined).length,
    refusedMs: Math.max(0, ...seen.pods.map((pod) => unschedulableMs(pod, seen.now))),
    waitingSince: seen.deployment.waitingSince,
  };
}

export class CapacityProbes {
  /** When those that wait had their last turn, in Unix milliseconds. */
  readonly #triedAt = new Map<string, number>();
  readonly #passed = new PassedDeployments();
  /** By key: pods on nodes at the last update. */
  #placed: ReadonlyMap<string, number> = new Map();
  #scarce: ReadonlySet<string> = new Set();
  /** With the pods that each had on nodes when it was admitted. */
  #admitted: ReadonlyMap<string, number> = new Map();

  /** Whether a deployment with this need may keep a pod that has no node. */
  mayProbe(key: string, need: string): boolean {
    return !this.#scarce.has(need) || this.#admitted.has(key);
  }

  /** Updates the state of all deployments. `now`: Unix milliseconds. */
  update(placements: readonly Placement[], now: number): void {
    const placed = new Map(placements.map((placement) => [placement.key, placement.placed]));
    const found = new Map(placements.map((placement) => [placement.key, this.#countFound(placement)]));
    this.#placed = placed;
    this.#passed.update(placements, found, now);
    const ended = this.#endTurns(placements, now);
    const scarce = new Set<string>();
    const admitted = new Map<string, number>();
    for (const [need, group] of Map.groupBy(placements, (placement) => placement.need)) {
      // Those that found a node have not been looked at since.
      const waiting = group.filter(({ key, waitingSince }) => waitingSince !== undefined && !found.get(key));
      const isRefused = group.some(({ refusedMs }) => refusedMs > SCARCE_AFTER_MS);
      // Short until no one is left waiting.
      if (!isRefused && !(this.#scarce.has(need) && waiting.length > MAX_PROBES)) continue;
      scarce.add(need);
      for (const key of this.#admit(group, { waiting, found, ended })) admitted.set(key, placed.get(key)!);
    }
    this.#scarce = scarce;
    this.#admitted = admitted;
  }

  /** Pods that found a node since the last update. */
  #countFound({ key, placed }: Placement): number {
    return Math.max(0, placed - (this.#placed.get(key) ?? placed));
  }

  /** Of those with the same need. A pod that may get a node any moment is not withdrawn for another's sake. */
  #admit(
    group: readonly Placement[],
    seen: { waiting: readonly Placement[]; found: ReadonlyMap<string, number>; ended: ReadonlySet<string> },
  ): string[] {
    const isStaying = ({ key, placed }: Placement) =>
      !seen.ended.has(key) && placed <= (this.#admitted.get(key) ?? -1);
    const describe = ({ key, namespace, waitingSince }: Placement): Waiting => ({
      key,
      namespace,
      since: this.#triedAt.get(key) ?? waitingSince!,
    });
    const staying = seen.waiting.filter(isStaying).map(describe);
    const others = seen.waiting.filter((each) => !isStaying(each)).map(describe);
    const found = new Map<string, number>();
    for (const { key, namespace } of group)
      found.set(namespace, (found.get(namespace) ?? 0) + seen.found.get(key)!);
    const ordered = orderFairly(others, countShares(group, staying));
    return chooseProbes(staying, ordered, found).map(({ key }) => key);
  }

  /**
   * Moves it to the back of its line. While there is capacity for nobody, whoever came first stays first: only what goes to
   * others shows that its pod does not fit. Returns those whose turn is over.
   */
  #endTurns(placements: readonly Placement[], now: number): Set<string> {
    const waiting = new Set<string>();
    const ended = new Set<string>();
    for (const { key, refusedMs, waitingSince } of placements) {
      if (waitingSince !== undefined) waiting.add(key);
      if (this.#passed.isPassedBy(key, now) || refusedMs > MAX_TURN_MS) ended.add(key);
    }
    for (const key of ended) this.#triedAt.set(key, now);
    for (const key of this.#triedAt.keys()) if (!waiting.has(key)) this.#triedAt.delete(key);
    return ended;
  }
}

/** By workspace: pods on nodes, and deployments whose pod may get one. */
function countShares(group: readonly Placement[], staying: readonly Waiting[]): Map<string, number> {
  const shares = new Map<string, number>();
  const add = (namespace: string, count: number) =>
    shares.set(namespace, (shares.get(namespace) ?? 0) + count);
  for (const { namespace, placed } of group) add(namespace, placed);
  for (const { namespace } of staying) add(namespace, 1);
  return shares;
}

/**
 * Those that wait for a node already, and as many more as there are turns. Where pods find nodes, twice as many of them are
 * tried next: the more GPUs are free at once, the sooner all are used.
 */
function chooseProbes(
  staying: readonly Waiting[],
  ordered: readonly Waiting[],
  found: ReadonlyMap<string, number>,
): Waiting[] {
  const turns = (least: number, foundNow: number, pending: number) =>
    Math.max(least, 2 * (foundNow - pending)) - pending;
  const pending = countByNamespace(staying);
  const left = new Map<string, number>();
  const takeTurn = ({ namespace }: Waiting): boolean => {
    const [foundNow = 0, waitingNow = 0] = [found.get(namespace), pending.get(namespace)];
    const count = left.get(namespace) ?? turns(MAX_WORKSPACE_PROBES, foundNow, waitingNow);
    left.set(namespace, count - 1);
    return count > 0;
  };
  const total = turns(MAX_PROBES, sum(found.values()), staying.length);
  return [...staying, ...ordered.filter(takeTurn).slice(0, Math.max(0, total))];
}

function countByNamespace(waiting: readonly Waiting[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace } of waiting) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return counts;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
