/** Attaches the front to a deployment's Service: instead of its pods, or as a fallback. */
import { isNotFound } from '../../kube/api-error.ts';
import { controllerOf, type KubeObject, objectKey } from '../../kube/object.ts';
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

/** Writes the front's slices for a deployment; does nothing while it has no Service. */
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

/** A slice of a Service that was deleted and recreated: the garbage collector would remove it later. */
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

/** If the route leads to the front anyway. */
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

/** When each ready, non-terminating pod of a deployment became ready. */
export const listReadySince = ({ view }: Pick<ModelContext, 'view'>, key: string): number[] =>
  view.pods
    .byIndex(BY_MODEL, key)
    .map((pod) => readySince(pod as Parameters<typeof readySince>[0]))
    .filter((since) => since !== undefined);
