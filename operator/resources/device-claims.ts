/** GPUs that are claimed by their device class (dynamic resource allocation): each pod gets a claim made from a template. Pure. */
import { hash } from 'node:crypto';
import type { V1PodResourceClaim } from '@kubernetes/client-node';
import { claimsGPUs } from '../../api/engine-traits.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { type KubeObject, stableStringify } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { childMetadata } from './metadata.ts';

/** Name of the claim within a pod. */
export const GPU_CLAIM = 'berth-gpus';

/** A claim of the pods; none if their GPUs are requested by a resource name. */
export function claimGPUs(model: ModelDeployment): V1PodResourceClaim[] {
  const template = buildClaimTemplate(model);
  return template ? [{ name: GPU_CLAIM, resourceClaimTemplateName: template.metadata.name }] : [];
}

/** A template never changes: another spec has another name, which rolls the pods. */
export function buildClaimTemplate(model: ModelDeployment): KubeObject | undefined {
  const { gpu } = model.spec;
  if (!gpu || !claimsGPUs(model.spec)) return undefined;
  const selectors = (gpu.deviceSelectors ?? []).map((expression) => ({ cel: { expression } }));
  const exactly = {
    deviceClassName: gpu.deviceClass,
    allocationMode: 'ExactCount',
    count: gpu.count,
    ...(selectors.length > 0 && { selectors }),
  };
  const spec = { spec: { devices: { requests: [{ name: 'gpu', exactly }] } } };
  const { apiVersion, kind } = RESOURCES.ResourceClaimTemplate;
  const id = hash('sha256', stableStringify(spec), 'hex').slice(0, 8);
  return { apiVersion, kind, metadata: childMetadata(model, `${model.metadata.name}-gpus-${id}`), spec };
}
