/** What an installation of Berth decides for all deployments; `environment.ts` reads it. */
import type { BuildSettings } from './resources/settings.ts';
import type { SidecarRolloutSettings } from './sidecar/settings.ts';

export interface OperatorSettings extends BuildSettings {
  /** Of maxmemory, that one workspace's keys may take before its user is suspended; 100: no limit. */
  redisWorkspaceShare: number;
  /** Let requests be queued on a Redis that may lose them. */
  allowVolatileQueue: boolean;
  /** How new sidecars are rolled out without a change of specs; undefined: they are not. */
  sidecarRollout: SidecarRolloutSettings | undefined;
  /** Namespaces to watch; all if empty. */
  watchNamespaces: readonly string[];
}
