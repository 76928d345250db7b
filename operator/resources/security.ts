/** Security contexts: `restricted` by default, for the engine as far as its image allows. */
import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import type { EnginePresetDefinition } from '../engines/engine.ts';

/** The user of Berth's own image. */
export const GATEWAY_UID = 65_532;

const LOCKED: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export const SECURITY_PLATFORMS = ['kubernetes', 'openshift'] as const;
/** OpenShift assigns users and groups to each namespace, and refuses pods that set others. */
export type SecurityPlatform = (typeof SECURITY_PLATFORMS)[number];

const userOf = (uid: number, platform: SecurityPlatform): V1SecurityContext => ({
  runAsNonRoot: true,
  ...(platform === 'openshift' ? {} : { runAsUser: uid, runAsGroup: uid }),
});

/** Security context of the gateway and of init containers. */
export const restricted = (platform: SecurityPlatform): V1SecurityContext => ({
  ...LOCKED,
  ...userOf(GATEWAY_UID, platform),
  readOnlyRootFilesystem: true,
});

export function engineSecurity(
  { uid, readOnlyRootFilesystem }: EnginePresetDefinition,
  platform: SecurityPlatform,
  overrides: Record<string, unknown> = {},
): V1SecurityContext {
  const user = uid === undefined ? {} : userOf(uid, platform);
  return merge(
    { ...LOCKED, ...user, ...(readOnlyRootFilesystem ? { readOnlyRootFilesystem } : {}) },
    overrides,
  );
}

/** The group makes volumes writable for the engine; large ones are not traversed at each start. */
export function podSecurity(
  { uid }: EnginePresetDefinition,
  platform: SecurityPlatform,
  overrides: Record<string, unknown> = {},
): V1PodSecurityContext {
  const isGiven = uid === undefined || platform === 'openshift';
  const group = isGiven ? {} : { fsGroup: uid, fsGroupChangePolicy: 'OnRootMismatch' };
  return merge({ seccompProfile: { type: 'RuntimeDefault' }, ...group }, overrides);
}

/** Overrides win; null removes a default. */
function merge<T extends object>(defaults: T, overrides: Record<string, unknown>): T {
  const merged = Object.entries({ ...defaults, ...overrides }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged) as T;
}
