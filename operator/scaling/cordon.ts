/** Cordoned pods, which are to be removed: they get no new work until they are idle, and can be uncordoned at any time (decision 0230). No I/O. */
import type { V1Pod } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';

/** After it was published: gateways have read it, and their next heartbeats show it. */
const SETTLE_MS = 4_000;
/** A cordoned pod that still exists is uncordoned. */
const LEAVE_TIMEOUT_MS = 30_000;

interface Cordoned {
  /** Unix milliseconds. */
  since: number;
  /** The replicas are already reduced: it is about to be removed. */
  leavingSince?: number;
}

type Replicas = DeploymentSample['replicas'];

export class Cordon {
  readonly #pods = new Map<string, Cordoned>();

  /** Names, in a stable order. */
  names(): string[] {
    return [...this.#pods.keys()].sort();
  }

  /** Cordons `count` of the ready pods besides those about to be removed: already cordoned ones, then the least busy. */
  choose(ready: readonly V1Pod[], replicas: Replicas, { count, now }: { count: number; now: number }): void {
    const chosen = new Set(
      ready
        .filter((pod) => this.#pods.get(nameOf(pod))?.leavingSince === undefined)
        .sort((a, b) => this.#rank(b) - this.#rank(a) || loadOf(a, replicas) - loadOf(b, replicas))
        .slice(0, count)
        .map(nameOf),
    );
    for (const [name, { leavingSince }] of this.#pods)
      if (leavingSince === undefined && !chosen.has(name)) this.#pods.delete(name);
    for (const name of chosen) if (!this.#pods.has(name)) this.#pods.set(name, { since: now });
  }

  /**
   * Whether all their engines are idle, after the time that gateways take to notice the cordon. Responses
   * that they relay from peers end while they drain: a Service keeps routing requests to them, so there are always some.
   */
  isIdle(replicas: Replicas, now: number): boolean {
    return this.#staying().every(([name, { since }]) => {
      const replica = replicas.find(({ pod }) => pod === name);
      return now - since >= SETTLE_MS && replica?.inflight === 0;
    });
  }

  /** Those that are not about to be removed. */
  waiting(): string[] {
    return this.#staying().map(([name]) => name);
  }

  /** The replicas are reduced: these pods will be removed. */
  leave(now: number): void {
    for (const [, cordoned] of this.#staying()) cordoned.leavingSince = now;
  }

  /** Demand is back. */
  lift(): void {
    for (const [name] of this.#staying()) this.#pods.delete(name);
  }

  /** Forgets pods that are gone or were kept after all. */
  prune(staying: readonly V1Pod[], now: number): void {
    const names = new Set(staying.map(nameOf));
    for (const [name, { leavingSince }] of this.#pods)
      if (!names.has(name) || (leavingSince !== undefined && now - leavingSince > LEAVE_TIMEOUT_MS))
        this.#pods.delete(name);
  }

  #staying = (): [string, Cordoned][] =>
    [...this.#pods].filter(([, { leavingSince }]) => leavingSince === undefined);

  #rank = (pod: V1Pod): number =>
    Number(this.#pods.has(nameOf(pod))) +
    Number(pod.metadata?.annotations?.[ANNOTATIONS.deletionCost] !== undefined);
}

const nameOf = (pod: V1Pod): string => pod.metadata!.name!;

/** One without a heartbeat is removed last. */
const loadOf = (pod: V1Pod, replicas: Replicas): number =>
  replicas.find(({ pod: name }) => name === nameOf(pod))?.inflight ?? Number.MAX_SAFE_INTEGER;
