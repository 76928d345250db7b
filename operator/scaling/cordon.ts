/** Pods that are to go: they take no new work until they are idle, and can have it back at any time. No I/O. */
import type { V1Pod } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';

/** After it was published: gateways have read it, and their next heartbeats show it. */
const SETTLE_MS = 4_000;
/** A pod that was to go and is still there takes work again. */
const LEAVE_TIMEOUT_MS = 30_000;

interface Cordoned {
  /** Unix milliseconds. */
  since: number;
  /** There are fewer replicas already: it is about to be removed. */
  leavingSince?: number;
}

type Replicas = DeploymentSample['replicas'];

export class Cordon {
  readonly #pods = new Map<string, Cordoned>();

  /** Names, in a stable order. */
  names(): string[] {
    return [...this.#pods.keys()].sort();
  }

  /** Cordons `count` of the ready pods beside those that are about to be removed: those cordoned already, then the least busy. */
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
   * Whether no engine of theirs has anything to do, after the time that gateways take to know that they are cordoned. Answers
   * that they pass on from peers end while they drain: a Service goes on to lead requests to them, so there are always some.
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

  /** Fewer replicas are wanted now: these pods are the ones that go. */
  leave(now: number): void {
    for (const [, cordoned] of this.#staying()) cordoned.leavingSince = now;
  }

  /** Demand is back. */
  lift(): void {
    for (const [name] of this.#staying()) this.#pods.delete(name);
  }

  /** Forgets pods that are gone, and those that were kept after all. */
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

/** One that says nothing is the last to go. */
const loadOf = (pod: V1Pod, replicas: Replicas): number =>
  replicas.find(({ pod: name }) => name === nameOf(pod))?.inflight ?? Number.MAX_SAFE_INTEGER;
