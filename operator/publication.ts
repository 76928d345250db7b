/** Composes what concerns Redis: the desired state and its publisher, the guards, and reports to administrators and workspaces. */
import type { RedisConnection } from '../redis/client.ts';
import type { Queues } from './controllers.ts';
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
  queues: Pick<Queues, 'models' | 'workspaces'>;
  /** Between two checks of Redis. */
  checkIntervalMs: number | undefined;
}

export function createPublication(options: PublicationOptions): {
  publisher: Publisher;
  guards: RedisGuards;
  reports: RedisReports;
} {
  const { client, redis, settings, view, queues, record, podName, now, log } = options;
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
      queues.workspaces.add(namespace);
    },
    now,
    log,
  });
  const enqueueWorkspaces = () => {
    for (const { metadata } of view.workspaces.list()) queues.workspaces.add(metadata.namespace!);
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
    ...(now && { now }),
    onDeploymentChange: ({ namespace, name }, { isFull }) =>
      queues.models.add(`${namespace}/${name}`, isFull ? 'slow' : 'fast'),
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
