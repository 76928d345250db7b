/** Restarts all replicas of a deployment as a rollout: they drain as at any change of their pods. Pure. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

export type Restart = { refusal: string; patch?: undefined } | { refusal?: undefined; patch: object };

/** A merge patch of the deployment, or why there is nothing to restart. */
export function describeRestart(
  name: string,
  spec: Pick<ModelDeploymentSpec, 'adapterOf' | 'paused' | 'replicas'>,
  now: Date,
): Restart {
  const { adapterOf } = spec;
  if (adapterOf) return { refusal: refuseAdapter(name, adapterOf) };
  if (spec.paused) return { refusal: `${name} is paused and has no replicas: resume it instead.` };
  if (spec.replicas === 0)
    return { refusal: `${name} has no replicas: spec.replicas is 0. Set it to 1 or more instead.` };
  return { patch: { spec: { rollout: { revision: `restarted-${now.toISOString()}` } } } };
}

export const refuseAdapter = (name: string, { deployment }: { deployment: string }): string =>
  `${name} is an adapter without replicas of its own: restart its base, ${deployment}.`;
