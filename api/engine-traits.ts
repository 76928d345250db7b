/** Properties of a spec's engine. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

/** SGLang accepts no colon, after which it expects the name of an adapter. */
export function servedModelName({ engine, model }: Pick<ModelDeploymentSpec, 'engine' | 'model'>): string {
  if (engine.servedModelName !== undefined) return engine.servedModelName;
  return engine.preset === 'sglang' ? model.id.replaceAll(':', '-') : model.id;
}

type Spec = Pick<ModelDeploymentSpec, 'kind' | 'engine' | 'gpu' | 'scaling'>;

/** vLLM supports it only on GPUs; the simulator, as it imitates vLLM. */
export function canSleep({ kind, engine, gpu }: Omit<Spec, 'scaling'>): boolean {
  if (engine.preset === 'vllm') return gpu?.count !== 0;
  return engine.preset === 'simulator' && !['Image', 'Video', 'Speech'].includes(kind);
}

/** Whether its last replica sleeps while idle, instead of being removed. */
export const sleepsWhenIdle = (spec: Spec): boolean => spec.scaling?.idle === 'Sleep' && canSleep(spec);

/** Whether its GPUs are claimed by their device class. */
export const claimsGPUs = ({ gpu }: Pick<ModelDeploymentSpec, 'gpu'>): boolean =>
  gpu?.deviceClass !== undefined && gpu.count > 0;

/** Whether its pods get devices by claims (dynamic resource allocation). */
export const usesDeviceClaims = (spec: Pick<ModelDeploymentSpec, 'gpu' | 'template'>): boolean =>
  claimsGPUs(spec) || (spec.template.resourceClaims?.length ?? 0) > 0;
