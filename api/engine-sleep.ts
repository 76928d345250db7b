/** Which engines can sleep: their process stays, and the GPU's memory is free meanwhile. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

type Spec = Pick<ModelDeploymentSpec, 'kind' | 'engine' | 'gpu' | 'scaling'>;

/** vLLM can on GPUs alone; of the simulator, what it can play of vLLM. */
export function canSleep({ kind, engine, gpu }: Omit<Spec, 'scaling'>): boolean {
  if (engine.preset === 'vllm') return gpu?.count !== 0;
  return engine.preset === 'simulator' && !['Image', 'Video', 'Speech'].includes(kind);
}

/** Whether its last replica sleeps while it is idle, instead of being removed. */
export const sleepsWhenIdle = (spec: Spec): boolean => spec.scaling?.idle === 'Sleep' && canSleep(spec);
