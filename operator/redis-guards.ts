/** Guards of Redis: the memory share of each workspace, and connections that never log in. */
import { WORKSPACE_NAME } from '../api/workspace.ts';
import type { createEventRecorder } from '../kube/events.ts';
import type { Log } from '../kube/log.ts';
import type { RedisConnection } from '../redis/client.ts';
import type { OperatorSettings } from './environment.ts';
import type { ClusterView } from './framework/cluster-view.ts';
import { ConnectionGuard } from './publish/connection-guard.ts';
import { MemoryGuard } from './publish/memory-guard.ts';

export interface RedisGuardsOptions {
  redis: RedisConnection;
  settings: Pick<OperatorSettings, 'redisUsers' | 'redisWorkspaceShare'>;
  view: Pick<ClusterView, 'workspaces'>;
  record: ReturnType<typeof createEventRecorder>['record'];
  /** The share of a workspace is used up, or no longer is. */
  onChange: (namespace: string) => void;
  now: (() => number) | undefined;
  log: Log;
}

export interface RedisGuards {
  /** Absent if workspaces have no shares. */
  memory: MemoryGuard | undefined;
  start(): void;
  stop(): Promise<void>;
}

/** Only if the operator manages the users of Redis: otherwise others are responsible for them. */
export function createRedisGuards(options: RedisGuardsOptions): RedisGuards {
  const { redis, settings, view, record, onChange, now, log } = options;
  const isManaged = settings.redisUsers === 'managed';
  const memory =
    isManaged && settings.redisWorkspaceShare < 100
      ? new MemoryGuard({
          redis: redis.redis,
          sharePercent: settings.redisWorkspaceShare,
          log,
          now,
          onChange: (namespace) => {
            onChange(namespace);
            reportShare(namespace);
          },
        })
      : undefined;
  const connections = isManaged ? new ConnectionGuard({ redis: redis.redis, log }) : undefined;

  function reportShare(namespace: string): void {
    const live = view.workspaces.get(`${namespace}/${WORKSPACE_NAME}`);
    const refusal = memory!.refusalOf(namespace);
    if (live && refusal !== null)
      record(live, {
        type: 'Warning',
        reason: memory!.isSuspended(namespace) ? 'RedisUserSuspended' : 'RedisShareUsed',
        note: refusal,
      });
  }

  return {
    memory,
    start: () => {
      memory?.start();
      connections?.start();
    },
    stop: async () => {
      await Promise.all([memory?.stop(), connections?.stop()]);
    },
  };
}
