/** Which deployments may probe for capacity while GPUs of a kind are scarce: a few at a time, chosen fairly. No I/O. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { decideAccelerators } from '../resources/accelerators.ts';
import { isGated } from '../status/placement.ts';
import { orderFairly, type Waiting } from './fairness.ts';
import { PassedDeployments } from './passed-deployments.ts';
import { listStaying, unschedulableMs } from './pods.ts';
import type { ScaledDeployment } from './scaled-deployment.ts';

/** Pods that may be pending at once, per kind of GPU, while none finds a node; other deployments wait for their turn. */
const MAX_PROBES = 8;
/** Probes per workspace for those whose pods may fit no node at all. */
const MAX_WORKSPACE_PROBES = 2;
/** One that finds no node for this long, or has no pod at all, lets others try, for the pods of all probes may fit no node although there is capacity (decision 0354). */
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
  /** Pods that wait for one. */
  pending: number;
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
  const { deviceClass, deviceSelectors } = spec.gpu ?? {};
  const devices = resourceName || [deviceClass, deviceSelectors];
  const need = JSON.stringify([devices, count, Object.entries(spec.template.nodeSelector ?? {}).sort()]);
  described.set(spec, need);
  return need;
}

export function describePlacement(
  key: string,
  { metadata, spec }: ModelDeployment,
  seen: {
    pods: readonly V1Pod[];
    deployment: Pick<ScaledDeployment, 'waitingSince' | 'awaitedAt'>;
    now: number;
  },
): Placement {
  const staying = listStaying(seen.pods);
  const { awaitedAt, waitingSince } = seen.deployment;
  const placed = staying.filter((pod) => pod.spec?.nodeName !== undefined).length;
  return {
    key,
    namespace: metadata.namespace,
    need: describeCapacityNeed(spec),
    placed,
    pending: staying.filter((pod) => pod.spec?.nodeName === undefined && !isGated(pod)).length,
    refusedMs: Math.max(0, ...staying.map((pod) => unschedulableMs(pod, { awaitedAt, now: seen.now }))),
    waitingSince,
  };
}

/** A deployment that may keep a pod without a node. */
interface Admission {
  need: string;
  /** Unix milliseconds. */
  since: number;
}

/** Where a deployment is in the line. */
interface Place {
  /** Without success. Who comes later begins with as few as anybody there has. */
  turns: number;
  /** Unix milliseconds since when it waits, or when its last turn ended. */
  since: number;
}

export class CapacityProbes {
  /** Places of those that waited while there was a line. */
  readonly #places = new Map<string, Place>();
  readonly #passed = new PassedDeployments();
  /** By key: pods on nodes at the last update. */
  #placed: ReadonlyMap<string, number> = new Map();
  #scarce: ReadonlySet<string> = new Set();
  #admitted: ReadonlyMap<string, Admission> = new Map();

  /** Whether a deployment with this need may keep a pod that has no node. */
  mayProbe(key: string, need: string): boolean {
    return !this.#scarce.has(need) || this.#admitted.get(key)?.need === need;
  }

  /** Updates the state of all deployments. `now`: Unix milliseconds. */
  update(placements: readonly Placement[], now: number): void {
    const found = this.#listFound(placements);
    for (const key of found) this.#places.delete(key);
    this.#passed.update(placements, found, now);
    this.#endTurns(placements, found, now);
    const scarce = new Set<string>();
    const admitted = new Map<string, Admission>();
    for (const [need, group] of Map.groupBy(placements, (placement) => placement.need)) {
      // Whether one that found a node needs more is known once it is looked at again.
      const isWaiting = ({ key, pending, waitingSince }: Placement) =>
        waitingSince !== undefined && (pending > 0 || !found.has(key));
      const waiting = group.filter(isWaiting);
      const isRefused = group.some(({ refusedMs }) => refusedMs > SCARCE_AFTER_MS);
      // Short until no one is left waiting.
      if (!isRefused && !(this.#scarce.has(need) && waiting.length > MAX_PROBES)) continue;
      scarce.add(need);
      for (const key of this.#choose(group, waiting, found))
        admitted.set(key, this.#admitted.get(key) ?? { need, since: now });
    }
    this.#scarce = scarce;
    this.#admitted = admitted;
  }

  /** Those of which a pod found a node since the last update. */
  #listFound(placements: readonly Placement[]): Set<string> {
    const found = placements.filter(({ key, placed }) => placed > (this.#placed.get(key) ?? placed));
    this.#placed = new Map(placements.map(({ key, placed }) => [key, placed]));
    return new Set(found.map(({ key }) => key));
  }

  /** Chooses among those with the same need. A pod that may get a node any moment is not withdrawn for another's sake. */
  #choose(group: readonly Placement[], waiting: readonly Placement[], found: ReadonlySet<string>): string[] {
    const isStaying = ({ key }: Placement) => this.#admitted.has(key);
    const known = waiting.flatMap(({ key }) => this.#places.get(key)?.turns ?? []);
    const least = known.reduce((a, b) => Math.min(a, b), known[0] ?? 0);
    const describe = ({ key, namespace, waitingSince }: Placement): Waiting => {
      const place = this.#places.get(key) ?? { turns: least, since: waitingSince! };
      this.#places.set(key, place);
      return { key, namespace, since: place.since, turns: place.turns - least };
    };
    const staying = waiting.filter(isStaying).map(describe);
    const others = waiting.filter((each) => !isStaying(each)).map(describe);
    const ordered = orderFairly(others, countShares(group, staying));
    const foundHere = group.filter(({ key }) => found.has(key));
    return chooseProbes(staying, ordered, foundHere).map(({ key }) => key);
  }

  /**
   * Ends the turns of those that found a node or need another one now, and of those that had their time, which move to the
   * back of their line. While there is capacity for nobody, whoever came first stays first: only what goes to others shows
   * that its pod does not fit.
   */
  #endTurns(placements: readonly Placement[], found: ReadonlySet<string>, now: number): void {
    const waiting = new Set<string>();
    const admitted = new Map(this.#admitted);
    for (const { key, need, waitingSince } of placements) {
      if (waitingSince !== undefined) waiting.add(key);
      const admission = admitted.get(key);
      if (!admission) continue;
      const isOver = this.#passed.isPassedBy(key) || now - admission.since > MAX_TURN_MS;
      if (isOver || found.has(key) || admission.need !== need) admitted.delete(key);
      if (!isOver) continue;
      this.#places.set(key, { turns: (this.#places.get(key)?.turns ?? 0) + 1, since: now });
      this.#passed.forget(key);
    }
    this.#admitted = admitted;
    for (const key of this.#places.keys()) if (!waiting.has(key)) this.#places.delete(key);
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
 * Those that wait for a node already, and as many more as there are turns. Where all find nodes, twice as many of them are
 * tried next: the more GPUs are free at once, the sooner all are used.
 */
function chooseProbes(
  staying: readonly Waiting[],
  ordered: readonly Waiting[],
  found: readonly { namespace: string }[],
): Waiting[] {
  const pending = countByNamespace(staying);
  const successes = countByNamespace(found);
  const countTurns = (least: number, foundNow: number, pendingNow: number) =>
    Math.max(least, 2 * (foundNow - pendingNow)) - pendingNow;
  const turns = new Map<string, number>();
  const takeTurn = ({ namespace }: Waiting): boolean => {
    const [foundNow = 0, pendingNow = 0] = [successes.get(namespace), pending.get(namespace)];
    const left = turns.get(namespace) ?? countTurns(MAX_WORKSPACE_PROBES, foundNow, pendingNow);
    turns.set(namespace, left - 1);
    return left > 0;
  };
  // What a workspace has beyond its part from better times takes nobody's turn.
  let counted = 0;
  for (const count of pending.values()) counted += Math.min(count, MAX_WORKSPACE_PROBES);
  const total = countTurns(MAX_PROBES, found.length, counted);
  return [...staying, ...ordered.filter(takeTurn).slice(0, Math.max(0, total))];
}

function countByNamespace(all: readonly { namespace: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace } of all) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return counts;
}
