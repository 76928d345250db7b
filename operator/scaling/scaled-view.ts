/** Scaled deployments as seen by the caches. */
import type { V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { BY_MODEL, type ClusterView, listDraining } from '../framework/cluster-view.ts';
import type { ParsedStore } from '../framework/parsed-store.ts';
import type { LiveDeployment } from './replica-writer.ts';
import type { ScaledModel } from './scaled-deployment.ts';

export interface ScaledViewOptions {
  view: Pick<ClusterView, 'deployments' | 'pods'>;
  models: Pick<ParsedStore<ModelDeployment>, 'get' | 'isLeaving'>;
}

/** By key, `namespace/name`. */
export class ScaledView {
  readonly #options: ScaledViewOptions;

  constructor(options: ScaledViewOptions) {
    this.#options = options;
  }

  /** Undefined for one that is not scaled now. */
  modelOf(key: string): ScaledModel | undefined {
    const { models } = this.#options;
    const parsed = models.get(key);
    if (!parsed?.ok || models.isLeaving(key)) return undefined;
    const { scaling, paused } = parsed.value.spec;
    return scaling && !paused ? (parsed.value as ScaledModel) : undefined;
  }

  /** Undefined for one that is gone, or kept only as a stub: it cannot be evaluated. */
  liveOf(key: string): LiveDeployment | undefined {
    const live = this.#options.view.deployments.get(key);
    return live && typeof live.spec !== 'string' && !live.metadata.deletionTimestamp ? live : undefined;
  }

  /** Pods of all deployments that drain for others. */
  draining(): V1Pod[] {
    return listDraining(this.#options.view);
  }

  podsOf(key: string): V1Pod[] {
    return this.#options.view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
  }
}
