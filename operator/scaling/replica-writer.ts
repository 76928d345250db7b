/** The one writer of `spec.replicas` of Deployments that are scaled: with a field manager of its own, one write at a time each. */
import type { V1Deployment } from '@kubernetes/client-node';
import { FIELD_MANAGER, SCALER_FIELD_MANAGER } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ownedFields } from '../../kube/managed-fields.ts';
import { type KubeObject, objectKey, type Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';

export type LiveDeployment = Wire<V1Deployment>;

interface Written {
  uid: string;
  replicas: number;
  generation: number;
}

export class ReplicaWriter {
  readonly #client: Pick<KubeClient, 'apply'>;
  /** By key: the cache shows it a moment later. */
  readonly #written = new Map<string, Written>();
  readonly #chains = new Map<string, Promise<unknown>>();

  constructor(client: Pick<KubeClient, 'apply'>) {
    this.#client = client;
  }

  /** Replicas that a Deployment has, as last written or as the cache shows it, whichever is newer. */
  current(live: LiveDeployment): number {
    const written = this.#written.get(objectKey(live));
    const { uid, generation = 0 } = live.metadata;
    if (written !== undefined && written.uid === uid && written.generation > generation)
      return written.replicas;
    return live.spec?.replicas ?? 1;
  }

  /**
   * Writes what `choose` answers once all earlier writes have ended; undefined, or what is there already, writes nothing.
   * Throws what the API server answers.
   */
  write(live: LiveDeployment, choose: () => number | undefined, signal?: AbortSignal): Promise<void> {
    return this.#queue(live, async () => {
      const replicas = choose();
      if (replicas !== undefined && replicas !== this.current(live))
        await this.#apply(live, replicas, signal);
    });
  }

  /** Takes the field over before the reconciler gives it up: a field without an owner would be removed. */
  async adopt(live: LiveDeployment, signal?: AbortSignal): Promise<void> {
    const spec = ownedFields(live, FIELD_MANAGER)?.['f:spec'];
    if (spec?.['f:replicas'] === undefined) return;
    await this.#queue(live, () => this.#apply(live, this.current(live), signal));
  }

  delete(key: string): void {
    this.#written.delete(key);
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

  async #apply(live: LiveDeployment, replicas: number, signal?: AbortSignal): Promise<void> {
    const { name, namespace, uid } = live.metadata;
    // With the uid, one that is gone is not made again.
    const patch: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, uid },
      spec: { replicas },
    };
    const call = { fieldManager: SCALER_FIELD_MANAGER, force: true, signal };
    const { metadata } = await this.#client.apply(RESOURCES.Deployment, patch, call);
    this.#written.set(objectKey(live), { uid: uid!, replicas, generation: metadata.generation ?? 0 });
  }
}
