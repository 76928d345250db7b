/** What a front takes of tenants, whatever their objects allow: all of them share its memory and its disk. */
import type { GatewayConfig } from '../../api/gateway-config.ts';

export type SharedLimits = Pick<
  GatewayConfig['limits'],
  'jsonBodyBytes' | 'fileBytes' | 'multipartBodyBytes' | 'bodyTimeoutMs' | 'uploadTimeoutMs'
>;

/** The smaller of each deployment's limit and the front's own. */
export function applySharedLimits(config: GatewayConfig, shared: SharedLimits): GatewayConfig {
  const limits = { ...config.limits };
  for (const name of Object.keys(shared) as (keyof SharedLimits)[])
    limits[name] = Math.min(limits[name], shared[name]);
  return { ...config, limits };
}
