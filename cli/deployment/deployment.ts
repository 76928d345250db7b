/** A deployment, as the API server has it. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { podSelector } from '../../api/names.ts';
import { findSourceOfTruth } from '../../api/source-of-truth.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import type { Pod } from './pod.ts';

const MAX_LISTED = 20;
const PAGE = 100;

/** Fields that the operator has not written yet are absent. */
export type Deployment = KubeObject & {
  spec: Pick<ModelDeployment['spec'], 'kind' | 'model' | 'adapterOf' | 'paused'>;
  status?: Partial<ModelDeployment['status']>;
};

/** Throws Failure with the names that there are. */
export async function findDeployment(target: Target, name: string): Promise<Deployment> {
  const { client, namespace, where } = target;
  const found = await client.find<Deployment>(BERTH_RESOURCES.ModelDeployment, { namespace, name });
  if (found) return found;
  const names = await listDeployments(target);
  const others =
    names.length === 0
      ? 'it has none: berth deploy lists what can be deployed'
      : `it has ${names.slice(0, MAX_LISTED).join(', ')}${names.length > MAX_LISTED ? ' …' : ''}`;
  throw new Failure(
    'not_found',
    `there is no deployment ${name} in the namespace ${namespace} of ${where}; ${others}`,
  );
}

/** Whether its status is about its present spec. */
export const isSeen = ({ metadata, status }: Deployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

async function listDeployments({ client, namespace }: Target): Promise<string[]> {
  const { items } = await client.list(BERTH_RESOURCES.ModelDeployment, { namespace, limit: MAX_LISTED + 1 });
  return items.map(({ metadata }) => metadata.name).sort();
}

/** Oldest first; of an adapter, those of its base, which serve it. */
export async function listPods(
  { client, namespace }: Target,
  { metadata, spec }: Pick<Deployment, 'metadata' | 'spec'>,
  signal?: AbortSignal,
): Promise<Pod[]> {
  const labelSelector = Object.entries(podSelector(spec.adapterOf?.deployment ?? metadata.name))
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
  const items: Pod[] = [];
  let next: string | undefined;
  do {
    const page = await client.list<Pod>(RESOURCES.Pod, {
      namespace,
      labelSelector,
      limit: PAGE,
      ...(next && { continue: next }),
      ...(signal && { signal }),
    });
    items.push(...page.items);
    next = page.metadata.continue;
  } while (next);
  const age = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? '') || 0;
  return items.sort((one, other) => age(one) - age(other));
}

/** Names the program that will undo a change of the spec, if there is one. */
export function warnOfSource({ metadata }: Deployment, output: Output): void {
  const source = findSourceOfTruth(metadata);
  if (source === null) return;
  const { name } = metadata;
  output.note(
    `${source} manages ${name} and will put its own spec back at its next sync or upgrade: change it there as well.`,
  );
}
