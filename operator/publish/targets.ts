/** The units of publishing: each is written whole, from what the desired state holds at that moment. */
import type { DeploymentName } from './desired-state.ts';

export type Target =
  | { what: 'deployment'; namespace: string; name: string }
  | { what: 'apikeys'; namespace: string }
  | { what: 'credentials'; namespace: string }
  | { what: 'endpoints'; namespace: string }
  | { what: 'workspace'; namespace: string };

export const targetKey = (target: Target): string =>
  target.what === 'deployment'
    ? `deployment/${target.namespace}/${target.name}`
    : `${target.what}/${target.namespace}`;

export const deploymentTarget = ({ namespace, name }: DeploymentName): Target => ({
  what: 'deployment',
  namespace,
  name,
});
