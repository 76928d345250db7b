/** Applies the objects that a ModelDeployment consists of, under the operator's name. */
import { FIELD_MANAGER, GROUP } from '../api/names.ts';
import { type Applier, type ApplierOptions, createApplier } from '../kube/apply.ts';
import { RESOURCES } from '../kube/resource.ts';
import type { ClusterView } from './framework/cluster-view.ts';

export const createChildApplier = (
  view: ClusterView,
  options: Pick<ApplierOptions, 'client' | 'log'>,
): Applier =>
  createApplier({
    ...options,
    fieldManager: FIELD_MANAGER,
    hashAnnotation: `${GROUP}/applied`,
    resources: [
      { resource: RESOURCES.Deployment, cache: view.deployments },
      { resource: RESOURCES.Service, cache: view.services },
      { resource: RESOURCES.Ingress, cache: view.ingresses },
      { resource: RESOURCES.PodDisruptionBudget, cache: view.budgets },
      { resource: RESOURCES.NetworkPolicy, cache: view.policies },
      { resource: RESOURCES.PersistentVolumeClaim, cache: view.claims },
      { resource: RESOURCES.EndpointSlice, cache: view.slices },
      { resource: RESOURCES.Secret, cache: view.secrets },
      // Not watched, since a cluster may lack them.
      { resource: RESOURCES.HTTPRoute },
      { resource: RESOURCES.ResourceClaimTemplate },
    ],
  });
