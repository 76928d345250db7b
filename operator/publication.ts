/** Composes what concerns Redis: the desired state and its publisher, the guards, and reports to administrators and workspaces. */
import type { RedisConnection } from '../redis/client.ts';
import { createDesiredState, type DesiredStateSources } from './desired-state.ts';
import type { OperatorSettings } from './environment.ts';
import type { ClusterView } from './framework/cluster-view.ts';
import { Publisher } from './publish/publisher.ts';
import { createRedisGuards, type RedisGuards, type RedisGuardsOptions } from './redis-guards.ts';
import { RedisReports, type RedisReportsOptions } from './redis-reports.ts';

export interface PublicationOptions
  extends DesiredStateSources,
    Pick<RedisGuardsOptions, 'record' | 'now'>,
    Pick<RedisReportsOptions, 'client' | 'log'> {
  redis: RedisConnection;
  settings: OperatorSettings;
  view: ClusterView;
  /** The operator's own. */
  podName: string;
  enqueueModel: (key: string, lane: 'fast' | 'slow') => void;
  enqueueWorkspace: (namespace: string) => void;
  /** Between two checks of Redis. */
  checkIntervalMs: number | undefined;
}

export function createPublication(options: PublicationOptions): {
  publisher: Publisher;
  guards: RedisGuards;
  reports: RedisReports;
} {
  const { client, redis, settings, view, record, podName, now, log } = options;
  const reports = new RedisReports({
    client,
    pod: { name: podName, namespace: settings.namespace },
    record,
    log,
  });
  const guards = createRedisGuards({
    redis,
    settings,
    view,
    record,
    onChange: (namespace) => {
      publisher.mark({ what: 'workspace', namespace });
      options.enqueueWorkspace(namespace);
    },
    now,
    log,
  });
  const enqueueWorkspaces = () => {
    for (const { metadata } of view.workspaces.list()) options.enqueueWorkspace(metadata.namespace!);
  };
  const publisher = new Publisher({
    guard: guards.memory,
    connection: redis,
    desired: createDesiredState(options),
    users: settings.redisUsers,
    masterKey: settings.masterKey,
    allowVolatileQueue: settings.allowVolatileQueue,
    log,
    checkIntervalMs: options.checkIntervalMs,
    onDeploymentChange: ({ namespace, name }, { isFull }) =>
      options.enqueueModel(`${namespace}/${name}`, isFull ? 'slow' : 'fast'),
    onStateChange: (state, reason) => reports.reportState(state, reason),
    onRefusalChange: (refusal) => {
      reports.reportRefusal(refusal);
      enqueueWorkspaces();
    },
    onWarningsChange: (warnings) => {
      reports.reportWarnings(warnings);
      enqueueWorkspaces();
    },
  });
  return { publisher, guards, reports };
}
