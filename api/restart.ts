/** Restarts all replicas of a deployment as a rollout: they drain as at any change of their pods. Pure. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

export type Restart = { refusal: string; patch?: undefined } | { refusal?: undefined; patch: object };

/** A merge patch of the deployment, or why there is nothing to restart. */
export function describeRestart(
  name: string,
  spec: Pick<ModelDeploymentSpec, 'adapterOf' | 'paused'>,
  now: Date,
): Restart {
  if (spec.adapterOf)
    return {
      refusal: `${name} is an adapter without replicas of its own: restart its base, ${spec.adapterOf.deployment}.`,
    };
  if (spec.paused) return { refusal: `${name} is paused and has no replicas: resume it instead.` };
  return { patch: { spec: { rollout: { revision: `restarted-${now.toISOString()}` } } } };
}
