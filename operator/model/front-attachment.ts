/** Attaches the front to a deployment's Service: in place of its pods, or for when there are none. */
import type { V1Deployment } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../api/names.ts';
import { isNotFound } from '../../kube/api-error.ts';
import { controllerOf, type KubeObject, objectKey, type Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BY_MODEL } from '../framework/cluster-view.ts';
import {
  buildFrontSlices,
  collectFronts,
  type FrontRole,
  frontSliceNames,
  readySince,
} from '../resources/front-slices.ts';
import type { ModelContext } from './context.ts';

/** Writes the front's slices for a deployment; nothing while it has no Service yet. */
export async function attachFront(
  context: ModelContext,
  key: string,
  role: FrontRole,
  signal: AbortSignal,
): Promise<void> {
  const { view, applier } = context;
  const [namespace, name] = key.split('/') as [string, string];
  const service = findService(context, namespace, name);
  if (!service) return;
  const fronts = collectFronts(view.fronts.list());
  const slices = buildFrontSlices(name, service, fronts, role);
  for (const slice of slices) {
    await removeOrphan(context, slice, service, signal);
    await applier.apply(slice, service, { signal });
  }
  const wanted = new Set(slices.map(({ metadata }) => metadata.name));
  await removeSlices(context, key, (slice) => !wanted.has(slice), signal);
}

/** A slice of a Service that was deleted and made again: the garbage collector would get to it later. */
async function removeOrphan(
  { client, view }: ModelContext,
  slice: KubeObject,
  service: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const live = view.slices.get(objectKey(slice));
  const controller = live && controllerOf(live);
  if (controller?.kind !== 'Service' || controller.name !== service.metadata.name) return;
  if (controller.uid === service.metadata.uid) return;
  await client
    .delete(RESOURCES.EndpointSlice, live!.metadata, { uid: live!.metadata.uid, signal })
    .catch((error) => {
      if (!isNotFound(error)) throw error;
    });
}

/** Where the route leads to the front anyway. */
export const detachFront = (context: ModelContext, key: string, signal: AbortSignal): Promise<void> =>
  removeSlices(context, key, () => true, signal);

async function removeSlices(
  { view, applier }: ModelContext,
  key: string,
  isUnwanted: (name: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  for (const sliceName of frontSliceNames(name).filter(isUnwanted)) {
    const slice = view.slices.get(`${namespace}/${sliceName}`);
    const service = findService({ view }, namespace, name);
    if (slice && service && !slice.metadata.deletionTimestamp)
      await applier.remove(slice, service, { signal });
  }
}

const findService = ({ view }: Pick<ModelContext, 'view'>, namespace: string, name: string) =>
  view.services.get(`${namespace}/${name}`);

/** When each ready and staying pod of a deployment became ready. */
export const listReadySince = ({ view }: Pick<ModelContext, 'view'>, key: string): number[] =>
  view.pods
    .byIndex(BY_MODEL, key)
    .map((pod) => readySince(pod as Parameters<typeof readySince>[0]))
    .filter((since) => since !== undefined);

/** Ready pods that a rollout in progress, or about to start with `wanted`, may remove at once. */
export function countRollingAway(
  live: Wire<V1Deployment> | undefined,
  wanted: Wire<V1Deployment> | undefined,
): number {
  if (!live) return 0;
  const { observedGeneration = 0, updatedReplicas = 0, replicas = 0 } = live.status ?? {};
  const isObserved = observedGeneration >= (live.metadata.generation ?? 0);
  const isRolling = !isObserved || updatedReplicas < Math.min(live.spec?.replicas ?? 0, replicas);
  const begins = wanted !== undefined && templateMark(wanted) !== templateMark(live);
  if (!isRolling && !begins) return 0;
  const unavailable = (wanted ?? live).spec?.strategy?.rollingUpdate?.maxUnavailable ?? 1;
  return typeof unavailable === 'number' ? unavailable : 1;
}

/** Changes exactly when the pods are rolled: by another spec, or by a sidecar that the operator rolls out by itself. */
const templateMark = ({ metadata: { annotations = {} } }: Wire<V1Deployment>) =>
  [annotations[ANNOTATIONS.templateInputs], annotations[ANNOTATIONS.sidecarRolledAt]].join();
