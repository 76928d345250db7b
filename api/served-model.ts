/** What an engine calls the model that it serves. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

/** SGLang takes no colon, behind which it expects the name of an adapter. */
export function servedModelName({ engine, model }: Pick<ModelDeploymentSpec, 'engine' | 'model'>): string {
  if (engine.servedModelName !== undefined) return engine.servedModelName;
  return engine.preset === 'sglang' ? model.id.replaceAll(':', '-') : model.id;
}
