/** What the parts of the operator contribute to its metrics. */
import type { Controller } from '../kube/controller.ts';
import type { createEventRecorder } from '../kube/events.ts';
import type { createLeaderLease } from '../kube/leader-lease.ts';
import { countVerified } from './credential/credential-store.ts';
import type { ClusterView } from './framework/cluster-view.ts';
import type { MetricSources } from './metrics.ts';
import type { MemoryGuard } from './publish/memory-guard.ts';
import type { Publisher } from './publish/publisher.ts';
import type { Scaler } from './scaling/scaler.ts';
import type { SidecarRollout } from './sidecar/rollout.ts';

export interface MeasuredParts {
  view: Pick<ClusterView, 'all' | 'models' | 'keys' | 'workspaces' | 'credentials' | 'endpoints'>;
  controllers: readonly Controller[];
  lease: Pick<ReturnType<typeof createLeaderLease>, 'isLeading'>;
  publisher: Pick<Publisher, 'outage' | 'asyncRefusal'>;
  sidecars: Pick<SidecarRollout, 'counts'>;
  scaler: Pick<Scaler, 'list'>;
  events: Pick<ReturnType<typeof createEventRecorder>, 'dropped'>;
  memory: Pick<MemoryGuard, 'memory'> | undefined;
}

export function listMetricSources(parts: MeasuredParts): MetricSources {
  const { view, controllers, lease, publisher, sidecars, scaler, events, memory } = parts;
  return {
    queues: () =>
      controllers.map(({ name, queue }) => ({ name, depth: queue.depth(), failing: queue.failing() })),
    watches: () =>
      view.all.map((watcher) => ({
        resource: watcher.resource.plural,
        ageMs: watcher.ageMs(),
        objects: watcher.size,
        missed: watcher.missed(),
        failures: watcher.failures(),
      })),
    isLeading: () => lease.isLeading(),
    isRedisUp: () => publisher.outage === undefined,
    isQueueRefused: () => publisher.asyncRefusal !== null,
    credentials: () => countVerified(view.credentials.list()),
    sidecars: () => sidecars.counts(),
    scaling: () => (lease.isLeading() ? scaler.list() : []),
    droppedEvents: () => events.dropped(),
    objects: () => {
      if (!lease.isLeading()) return null;
      const [models, workspaces] = [view.models.list(), view.workspaces.list()];
      const others = [...view.credentials.list(), ...view.endpoints.list()];
      return { models, workspaces, keys: view.keys.list(), all: [...models, ...workspaces, ...others] };
    },
    redisMemory: () => memory?.memory ?? null,
  };
}
