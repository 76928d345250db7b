/** What follows from the engine that a spec names. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

/** SGLang takes no colon, behind which it expects the name of an adapter. */
export function servedModelName({ engine, model }: Pick<ModelDeploymentSpec, 'engine' | 'model'>): string {
  if (engine.servedModelName !== undefined) return engine.servedModelName;
  return engine.preset === 'sglang' ? model.id.replaceAll(':', '-') : model.id;
}

type Spec = Pick<ModelDeploymentSpec, 'kind' | 'engine' | 'gpu' | 'scaling'>;

/** vLLM can on GPUs alone; of the simulator, what it can play of vLLM. */
export function canSleep({ kind, engine, gpu }: Omit<Spec, 'scaling'>): boolean {
  if (engine.preset === 'vllm') return gpu?.count !== 0;
  return engine.preset === 'simulator' && !['Image', 'Video', 'Speech'].includes(kind);
}

/** Whether its last replica sleeps while it is idle, instead of being removed. */
export const sleepsWhenIdle = (spec: Spec): boolean => spec.scaling?.idle === 'Sleep' && canSleep(spec);
