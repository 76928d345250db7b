/** Remembers the inputs from which each deployment was reconciled, so that nothing is built again for an unchanged one. */
import { hash } from 'node:crypto';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { KubeObject } from '../../kube/object.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import type { BuiltChildren } from '../resources/children.ts';
import type { FrontRole } from '../resources/front-slices.ts';
import { frontRouteName } from '../resources/route.ts';
import type { ModelContext } from './context.ts';
import { registrationIdOf } from './model-store.ts';
import { evaluateTraffic, listSenders, listShares } from './traffic.ts';

/** Everything is reconciled again after this time in any case, in case an input is missing here. */
const MAX_AGE_MS = 3_600_000;

/** What a status tells of the children that were built. */
export type BuiltFacts = Pick<
  BuiltChildren,
  | 'desiredReplicas'
  | 'gpuResource'
  | 'url'
  | 'engineStatus'
  | 'isWithoutParsers'
  | 'sidecarVersion'
  | 'isSidecarOutdated'
  | 'staleSettings'
> & {
  /** The Deployment, or its controller, does not have the spec yet. */
  isOutdated: boolean;
};

/** The front's role in a deployment's Service; `None`: the route leads to it anyway. */
export type Fronting = FrontRole | 'None';

/** Hashes of what a deployment's state depends on. */
export interface Inputs {
  /** What its children are built from, and they themselves. */
  objects: string;
  /** What its status says besides. */
  verdicts: string;
}

export interface Settled {
  inputs: Inputs;
  fronting: Fronting;
  /** What the status tells of the children. */
  built: BuiltFacts;
  /** Its status waits for nothing. */
  isReported: boolean;
  at: number;
}

export class SettledModels {
  readonly #entries = new Map<string, Settled>();

  /** What is known of a deployment whose children were built from the same inputs; else undefined. */
  find(key: string, inputs: Inputs, now: number): Settled | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.inputs.objects !== inputs.objects || now - entry.at >= MAX_AGE_MS) return undefined;
    return entry;
  }

  /** Only if no child depends on time or on unwatched objects. */
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
 * the watched objects, and what the operator has decided elsewhere. Whoever changes or removes one of these changes a hash.
 */
export function describeInputs(
  { view, models, publisher, sidecars, scaler, settings, fits }: Sources,
  live: KubeObject,
  model: ModelDeployment,
): Inputs {
  const { namespace, name } = model.metadata;
  const key = `${namespace}/${name}`;
  const credential = model.spec.storage.credential;
  const children = view.children.filter((watcher) => watcher !== (view.slices as unknown));
  const objects = [
    ...children.flatMap((watcher) => watcher.byIndex(BY_MODEL, key)),
    ...view.pods.byIndex(BY_MODEL, key),
    view.frontIngresses.get(`${settings.namespace}/${frontRouteName(namespace, name)}`),
    credential === undefined ? undefined : view.credentials.get(`${namespace}/${credential}`),
  ];
  const host = models.hostOf(model);
  // All but its status, which the operator itself writes.
  const { resourceVersion, managedFields, ...metadata } = live.metadata;
  const decided = {
    metadata,
    registrationId: registrationIdOf(model),
    hostOwner: host && models.hostOwner(host),
    idOwner: models.idOwner(registrationIdOf(model)),
    adapters: models
      .servedBy(model)
      .map(({ metadata: { uid, generation, deletionTimestamp }, status }) => [
        uid,
        generation,
        deletionTimestamp,
        status.adapter,
      ]),
    traffic: listShares(models, model),
    trafficFrom: listSenders(models, model),
    sidecarGrant: sidecars.grantOf(key),
    scaling: model.spec.scaling && [
      scaler.wantedOf(model, view.deployments.get(key)),
      scaler.statusOf(model),
      // A minimum that is missed meanwhile is made up for.
      publisher.outage !== undefined,
    ],
    // Sidecars read it from their Secret, which the resync after a rotation updates.
    redisCA: settings.readRedisCA(),
  };
  const versions = objects.map((object) => `${object?.metadata.uid}@${object?.metadata.resourceVersion}`);
  const reported = {
    resourceVersion,
    publishedHost: publisher.publishedHost(model.metadata),
    fit: fits.evaluate(model),
    traffic: evaluateTraffic(models, model),
  };
  return {
    objects: hash('sha256', `${versions.join()} ${JSON.stringify(decided)}`, 'base64'),
    verdicts: JSON.stringify(reported),
  };
}
