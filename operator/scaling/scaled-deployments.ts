/** All scaled deployments by key (`namespace/name`); one that was deleted and created again starts anew. */
import type { LiveScaling } from '../../api/gateway-config.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { ScaledDeployment, type ScaledModel } from './scaled-deployment.ts';
import { readLoadTime } from './scaling-status.ts';

/** A deployment for metrics. */
export interface ScalingSample {
  namespace: string;
  name: string;
  wanted: number;
  ready: number;
  demand: number;
  held: number;
  /** Since the last decision. */
  ageMs: number;
}

export class ScaledDeployments {
  readonly #byKey = new Map<string, ScaledDeployment>();

  get(key: string): ScaledDeployment | undefined {
    return this.#byKey.get(key);
  }

  find({ metadata }: ModelDeployment): ScaledDeployment | undefined {
    const known = this.#byKey.get(`${metadata.namespace}/${metadata.name}`);
    return known?.uid === metadata.uid ? known : undefined;
  }

  /** For the gateways. */
  liveOf(model: ModelDeployment): LiveScaling {
    const deployment = this.find(model);
    const loadTimeMs = deployment ? deployment.loadTimeMs : readLoadTime(model.status.scaling);
    const { cordon, sleeping = [] } = deployment ?? {};
    return { loadTimeMs, cordoned: cordon?.names() ?? [], sleeping };
  }

  ensure(key: string, model: ScaledModel): ScaledDeployment {
    const known = this.find(model);
    if (known) return known;
    const made = new ScaledDeployment(model);
    this.#byKey.set(key, made);
    return made;
  }

  delete(key: string): void {
    this.#byKey.delete(key);
  }

  entries(): Iterable<[string, ScaledDeployment]> {
    return this.#byKey.entries();
  }

  /** Those that wait for a replica come first, in the order of their waiting. */
  sortByWait(keys: readonly string[]): string[] {
    const sinceOf = (key: string) => this.#byKey.get(key)?.waitingSince;
    const waiting = keys.filter((key) => sinceOf(key) !== undefined);
    const others = keys.filter((key) => sinceOf(key) === undefined);
    return [...waiting.sort((a, b) => sinceOf(a)! - sinceOf(b)!), ...others];
  }

  /** Resets those that are paused or no longer scaled. */
  resetOthers(scaled: ReadonlySet<string>): void {
    for (const [key, deployment] of this.#byKey) if (!scaled.has(key)) deployment.forget();
  }

  /** Those with at least one decision. `now`: Unix milliseconds. */
  list(now: number): ScalingSample[] {
    return [...this.#byKey].flatMap(([key, { wanted, decidedAt, seen }]) => {
      const [namespace = '', name = ''] = key.split('/');
      return wanted === undefined ? [] : [{ namespace, name, wanted, ...seen, ageMs: now - decidedAt }];
    });
  }
}
