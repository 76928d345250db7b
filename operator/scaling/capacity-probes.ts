/** Which deployments may probe for capacity while GPUs of a kind are scarce: a few at a time, chosen fairly. No I/O. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { decideAccelerators } from '../resources/accelerators.ts';
import { orderFairly, type Waiting } from './fairness.ts';
import { unschedulableMs } from './pods.ts';

/** Pods that may be pending at once, per kind of GPU; other deployments wait for their turn. */
const MAX_PROBES = 8;
/** Of these, per workspace: its pods may fit no node at all. */
const MAX_WORKSPACE_PROBES = 2;
/** One that finds no node for this long lets others try, if so many pods with the same need found one meanwhile. */
const TURN_MS = 30_000;
const PASSED_BY = MAX_PROBES;
/** Or for this long, for the pods of all probes may fit no node although there is capacity. */
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
  readonly #findings = new Findings();
  #scarce: ReadonlySet<string> = new Set();
  #admitted: ReadonlySet<string> = new Set();

  /** Whether a deployment with this need may keep a pod that has no node. */
  mayProbe(key: string, need: string): boolean {
    return !this.#scarce.has(need) || this.#admitted.has(key);
  }

  /** Updates the state of all deployments. `now`: Unix milliseconds. */
  update(placements: readonly Placement[], now: number): void {
    this.#findings.add(placements, now);
    this.#endTurns(placements, now);
    const scarce = new Set<string>();
    const admitted = new Set<string>();
    for (const [need, group] of Map.groupBy(placements, (placement) => placement.need)) {
      const held = new Map<string, number>();
      for (const { namespace, placed } of group) held.set(namespace, (held.get(namespace) ?? 0) + placed);
      const waiting = group.flatMap(({ key, namespace, waitingSince: since }): Waiting[] =>
        since === undefined ? [] : [{ key, namespace, since: this.#triedAt.get(key) ?? since }],
      );
      const isRefused = group.some(({ refusedMs }) => refusedMs > SCARCE_AFTER_MS);
      // Short until no one is left waiting.
      if (!isRefused && !(this.#scarce.has(need) && waiting.length > MAX_PROBES)) continue;
      scarce.add(need);
      for (const { key } of chooseProbes(orderFairly(waiting, held))) admitted.add(key);
    }
    this.#scarce = scarce;
    this.#admitted = admitted;
  }

  /**
   * Moves it to the back of its line. While there is capacity for nobody, whoever came first stays first: only what goes to
   * others shows that its pod does not fit.
   */
  #endTurns(placements: readonly Placement[], now: number): void {
    const waiting = new Set<string>();
    for (const { key, need, refusedMs, waitingSince } of placements) {
      if (waitingSince !== undefined) waiting.add(key);
      const isPassedBy = refusedMs > TURN_MS && this.#findings.areMany(need, now - refusedMs);
      if (isPassedBy || refusedMs > MAX_TURN_MS) this.#triedAt.set(key, now);
    }
    for (const key of this.#triedAt.keys()) if (!waiting.has(key)) this.#triedAt.delete(key);
  }
}

/** When pods found nodes: the last few of each need. */
class Findings {
  readonly #placed = new Map<string, number>();
  readonly #times = new Map<string, number[]>();

  add(placements: readonly Placement[], now: number): void {
    for (const { key, need, placed } of placements) {
      const found = Math.max(0, placed - (this.#placed.get(key) ?? placed));
      this.#placed.set(key, placed);
      if (found === 0) continue;
      const times = [
        ...(this.#times.get(need) ?? []),
        ...Array<number>(Math.min(found, PASSED_BY)).fill(now),
      ];
      this.#times.set(need, times.slice(-PASSED_BY));
    }
    this.#forgetOthers(placements);
  }

  /** Whether so many pods with this need found a node since then (Unix milliseconds) that one was passed by. */
  areMany(need: string, since: number): boolean {
    const times = this.#times.get(need) ?? [];
    return times.length >= PASSED_BY && times[0]! > since;
  }

  #forgetOthers(placements: readonly Placement[]): void {
    const keys = new Set(placements.map(({ key }) => key));
    const needs = new Set(placements.map(({ need }) => need));
    for (const key of this.#placed.keys()) if (!keys.has(key)) this.#placed.delete(key);
    for (const need of this.#times.keys()) if (!needs.has(need)) this.#times.delete(need);
  }
}

function chooseProbes(ordered: readonly Waiting[]): Waiting[] {
  const probes = new Map<string, number>();
  return ordered
    .filter(({ namespace }) => {
      const count = (probes.get(namespace) ?? 0) + 1;
      probes.set(namespace, count);
      return count <= MAX_WORKSPACE_PROBES;
    })
    .slice(0, MAX_PROBES);
}
