/** Remembers the inputs from which each deployment was reconciled, so that resyncing an unchanged one is cheap. */
import { hash } from 'node:crypto';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { KubeObject } from '../../kube/object.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import type { FrontRole } from '../resources/front-slices.ts';
import { frontRouteName } from '../resources/route.ts';
import type { ModelContext } from './context.ts';
import { registrationIdOf } from './model-store.ts';

/** Everything is reconciled again after this time in any case, in case an input is missing here. */
const MAX_AGE_MS = 3_600_000;

/** The front's role in a deployment's Service; `None`: the route leads to it anyway. */
export type Fronting = FrontRole | 'None';

interface Settled {
  inputs: string;
  fronting: Fronting;
  at: number;
}

export class SettledModels {
  readonly #entries = new Map<string, Settled>();

  /** How the front is attached to a deployment that was reconciled from the same inputs; else undefined. */
  find(key: string, inputs: string, now: number): Fronting | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.inputs !== inputs || now - entry.at >= MAX_AGE_MS) return undefined;
    return entry.fronting;
  }

  /** Only if nothing depends on time or on unwatched objects. */
  note(key: string, entry: Settled): void {
    this.#entries.set(key, entry);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

type Sources = Pick<
  ModelContext,
  'view' | 'models' | 'publisher' | 'sidecars' | 'scaler' | 'settings' | 'fits'
>;

/**
 * Everything that a deployment's state depends on, except the front's slices, which are compared each time: the versions of
 * the watched objects, and what the operator has decided elsewhere. Whoever changes or removes one of these changes this text.
 */
export function describeInputs(
  { view, models, publisher, sidecars, scaler, settings, fits }: Sources,
  live: KubeObject,
  model: ModelDeployment,
): string {
  const { namespace, name } = model.metadata;
  const key = `${namespace}/${name}`;
  const credential = model.spec.storage.credential;
  const children = view.children.filter((watcher) => watcher !== (view.slices as unknown));
  const objects = [
    live,
    ...children.flatMap((watcher) => watcher.byIndex(BY_MODEL, key)),
    ...view.pods.byIndex(BY_MODEL, key),
    view.frontIngresses.get(`${settings.namespace}/${frontRouteName(namespace, name)}`),
    credential === undefined ? undefined : view.credentials.get(`${namespace}/${credential}`),
  ];
  const host = models.hostOf(model);
  const decided = {
    hostOwner: host && models.hostOwner(host),
    idOwner: models.idOwner(registrationIdOf(model)),
    publishedHost: publisher.publishedHost(model.metadata),
    sidecarGrant: sidecars.grantOf(key),
    fit: fits.evaluate(model),
    scaling: model.spec.scaling && [
      scaler.wantedOf(model, view.deployments.get(key)),
      scaler.statusOf(model),
    ],
    // Sidecars read it from their Secret, which the resync after a rotation updates.
    redisCA: settings.readRedisCA(),
  };
  const versions = objects.map((object) => `${object?.metadata.uid}@${object?.metadata.resourceVersion}`);
  return hash('sha256', `${versions.join()} ${JSON.stringify(decided)}`, 'base64');
}
