/** Security contexts: `restricted` by default, for the engine as far as its image goes. */
import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import type { EnginePresetDefinition } from '../engines/engine.ts';

/** The user of Berth's own image. */
export const GATEWAY_UID = 65_532;

const LOCKED: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Of the gateway and of init containers. */
export const RESTRICTED: V1SecurityContext = {
  ...LOCKED,
  runAsNonRoot: true,
  runAsUser: GATEWAY_UID,
  runAsGroup: GATEWAY_UID,
  readOnlyRootFilesystem: true,
};

export function engineSecurity(
  { uid, readOnlyRootFilesystem }: EnginePresetDefinition,
  overrides: Record<string, unknown> = {},
): V1SecurityContext {
  const user = uid === undefined ? {} : { runAsNonRoot: true, runAsUser: uid, runAsGroup: uid };
  return merge(
    { ...LOCKED, ...user, ...(readOnlyRootFilesystem ? { readOnlyRootFilesystem } : {}) },
    overrides,
  );
}

/** The group makes volumes writable for the engine; large ones are not walked through at each start. */
export function podSecurity(
  { uid }: EnginePresetDefinition,
  overrides: Record<string, unknown> = {},
): V1PodSecurityContext {
  const group = uid === undefined ? {} : { fsGroup: uid, fsGroupChangePolicy: 'OnRootMismatch' };
  return merge({ seccompProfile: { type: 'RuntimeDefault' }, ...group }, overrides);
}

/** Overrides win; null takes a default away. */
function merge<T extends object>(defaults: T, overrides: Record<string, unknown>): T {
  const merged = Object.entries({ ...defaults, ...overrides }).filter(([, value]) => value !== null);
  return Object.fromEntries(merged) as T;
}
