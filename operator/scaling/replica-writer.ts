/** The only writer of `spec.replicas` of scaled Deployments: with its own field manager (decision 0236), one write at a time per Deployment. */
import type { V1Deployment } from '@kubernetes/client-node';
import { ANNOTATIONS, FIELD_MANAGER, SCALER_FIELD_MANAGER } from '../../api/names.ts';
import { isNotFound } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../kube/log.ts';
import { ownedFields } from '../../kube/managed-fields.ts';
import { type KubeObject, objectKey, type Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Reason } from './reasons.ts';
import { isFrozenByKueue, writeScale } from './scale-subresource.ts';

export type LiveDeployment = Wire<V1Deployment>;

/** Replicas, and why so many. */
export interface ReplicaChange extends Reason {
  replicas: number;
}

/** One that the API server accepted. */
export interface WrittenChange extends Reason {
  from: number;
  to: number;
}

/** Which pods to remove. */
export interface DrainChange extends ReplicaChange {
  pods: readonly string[];
}

export interface ReplicaWriterOptions {
  client: Pick<KubeClient, 'apply' | 'mergePatch'>;
  log: Log;
  onWritten?: (key: string, change: WrittenChange) => void;
}

interface Written {
  uid: string;
  replicas: number;
  generation: number;
}

/** Lower than that of pods nobody chose, so that these are removed first. */
const DELETION_COST = '-1000';

export class ReplicaWriter {
  readonly #options: ReplicaWriterOptions;
  /** By key: the cache lags behind. */
  readonly #written = new Map<string, Written>();
  readonly #chains = new Map<string, Promise<unknown>>();
  /** Whose pods to remove are being marked. */
  readonly #draining = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(options: ReplicaWriterOptions) {
    this.#options = options;
  }

  /** A Deployment's replicas, as last written or cached, whichever is newer. */
  current(live: LiveDeployment): number {
    const written = this.#written.get(objectKey(live));
    const { uid, generation = 0 } = live.metadata;
    if (written !== undefined && written.uid === uid && written.generation > generation)
      return written.replicas;
    return live.spec?.replicas ?? 1;
  }

  /**
   * Writes the result of `choose` once all earlier writes have ended; undefined, or the current value, writes nothing.
   * Throws the API server's errors.
   */
  write(live: LiveDeployment, choose: () => ReplicaChange | undefined, signal: AbortSignal): Promise<void> {
    return this.#queue(live, async () => {
      const change = choose();
      const from = this.current(live);
      if (change === undefined || change.replicas === from) return;
      const { replicas, reason, cause } = change;
      await this.#apply(live, replicas, signal).catch((error) => {
        if (!isFrozenByKueue(error)) throw error;
        return this.#scale(live, replicas, signal);
      });
      this.#options.onWritten?.(objectKey(live), { from, to: replicas, reason, cause });
    });
  }

  /** In the background, if `isStill` desired by then: failures show in the next sample. */
  change(live: LiveDeployment, change: ReplicaChange, isStill: () => boolean): void {
    this.write(live, () => (isStill() ? change : undefined), this.#stopping.signal).catch((error: Error) =>
      this.#warn(live, error, 'could not write replicas'),
    );
  }

  /** Marks the pods to remove first, then, if they `mayGo`, writes; in the background, and once at a time. */
  drain(
    live: LiveDeployment,
    drain: DrainChange,
    checks: { mayGo: () => boolean; isStill: () => boolean },
  ): void {
    const key = objectKey(live);
    if (this.#draining.has(key)) return;
    this.#draining.add(key);
    this.#mark(live.metadata.namespace!, drain.pods)
      .then(() => {
        if (checks.mayGo()) this.change(live, drain, checks.isStill);
      })
      .catch((error: Error) => this.#warn(live, error, 'could not choose pods to remove'))
      .finally(() => this.#draining.delete(key));
  }

  /** Takes ownership of the field before the reconciler releases it: a field without an owner would be removed. */
  async adopt(live: LiveDeployment, signal: AbortSignal): Promise<void> {
    const spec = ownedFields(live, FIELD_MANAGER)?.['f:spec'];
    if (spec?.['f:replicas'] === undefined) return;
    await this.#queue(live, () => this.#apply(live, this.current(live), signal));
  }

  delete(key: string): void {
    this.#written.delete(key);
  }

  /** Ends background work. */
  stop(): void {
    this.#stopping.abort();
  }

  async #mark(namespace: string, pods: readonly string[]): Promise<void> {
    const patch = { metadata: { annotations: { [ANNOTATIONS.deletionCost]: DELETION_COST } } };
    for (const name of pods)
      await this.#options.client
        .mergePatch(RESOURCES.Pod, { at: { namespace, name }, patch, signal: this.#stopping.signal })
        .catch((error) => {
          if (!isNotFound(error)) throw error;
        });
  }

  #warn(live: LiveDeployment, error: Error, message: string): void {
    if (!this.#stopping.signal.aborted) this.#options.log.warn({ key: objectKey(live), err: error }, message);
  }

  #queue(live: LiveDeployment, act: () => Promise<void>): Promise<void> {
    const key = objectKey(live);
    const last = this.#chains.get(key) ?? Promise.resolve();
    const ended = last.then(act);
    const settled = ended.catch(() => {});
    this.#chains.set(key, settled);
    void settled.then(() => {
      if (this.#chains.get(key) === settled) this.#chains.delete(key);
    });
    return ended;
  }

  async #apply(live: LiveDeployment, replicas: number, signal: AbortSignal): Promise<void> {
    const { name, namespace, uid } = live.metadata;
    // With the uid, a deleted one is not recreated.
    const patch: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, uid },
      spec: { replicas },
    };
    const call = { fieldManager: SCALER_FIELD_MANAGER, force: true, signal };
    const { metadata } = await this.#options.client.apply(RESOURCES.Deployment, patch, call);
    this.#written.set(objectKey(live), { uid: uid!, replicas, generation: metadata.generation ?? 0 });
  }

  /** The response has no generation. */
  async #scale(live: LiveDeployment, replicas: number, signal: AbortSignal): Promise<void> {
    await writeScale(this.#options.client, live, { replicas, signal });
    const { uid, generation = 0 } = live.metadata;
    const last = this.#written.get(objectKey(live));
    const known = last?.uid === uid ? last!.generation : 0;
    this.#written.set(objectKey(live), {
      uid: uid!,
      replicas,
      generation: Math.max(generation, known) + 1,
    });
  }
}
