/** The operator's metrics; the owner of prom-client here. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { KubeObject } from '../kube/object.ts';
import type { ReconcileSample } from '../kube/work-queue.ts';
import type { ServerUse } from '../redis/workspaces/server-use.ts';
import {
  describeBudgets,
  describeCredits,
  describeDeployments,
  listFailingConditions,
} from './object-metrics.ts';
import type { WrittenChange } from './scaling/replica-writer.ts';
import type { ScalingSample } from './scaling/scaled-deployments.ts';
import type { SidecarCounts } from './sidecar/rollout.ts';

export interface MetricSources {
  /** Depth of each queue. */
  queues: () => { name: string; depth: number; failing: number }[];
  watches: () => { resource: string; ageMs: number; objects: number; missed: number; failures: number }[];
  isLeading: () => boolean;
  isRedisUp: () => boolean;
  isQueueRefused: () => boolean;
  credentials: () => { verified: string; count: number }[];
  sidecars: () => SidecarCounts;
  scaling: () => ScalingSample[];
  droppedEvents: () => number;
  /** Objects of this process while it leads; none as a follower. */
  objects: () => {
    models: readonly KubeObject[];
    workspaces: readonly KubeObject[];
    keys: readonly KubeObject[];
    all: readonly KubeObject[];
  } | null;
  /** As last read; null before. */
  redisMemory: () => ServerUse | null;
}

const SECONDS_BUCKETS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export type OperatorMetrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const reconciles = new Counter({
    name: 'berth_operator_reconciles_total',
    help: 'Runs of a reconciler, by outcome.',
    labelNames: ['controller', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'berth_operator_reconcile_seconds',
    help: 'Time of a run.',
    labelNames: ['controller'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const waits = new Histogram({
    name: 'berth_operator_queue_wait_seconds',
    help: 'Time a key waited in the queue.',
    labelNames: ['controller', 'lane'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const calls = new Counter({
    name: 'berth_operator_api_calls_total',
    help: 'Calls to the API server; code 0 if there was no response.',
    labelNames: ['verb', 'resource', 'code'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'berth_operator_api_call_seconds',
    help: 'Time of a call to the API server; of a watch, until its first byte.',
    labelNames: ['verb'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const changes = new Counter({
    name: 'berth_operator_scaling_changes_total',
    help: 'Changes of replicas that the autoscaler wrote.',
    labelNames: ['direction', 'cause'],
    registers,
  });

  return {
    onProcessed(sample: ReconcileSample): void {
      reconciles.inc({ controller: sample.queue, outcome: sample.outcome });
      seconds.observe({ controller: sample.queue }, sample.seconds);
      waits.observe({ controller: sample.queue, lane: sample.lane }, sample.waitSeconds);
    },
    onRequest(sample: { verb: string; resource: string; code: number; seconds: number }): void {
      calls.inc({ verb: sample.verb, resource: sample.resource, code: String(sample.code) });
      callSeconds.observe({ verb: sample.verb }, sample.seconds);
    },
    onScaled(_key: string, { from, to, cause }: WrittenChange): void {
      changes.inc({ direction: to > from ? 'up' : 'down', cause });
    },
    /** Gauges that are read at each scrape. */
    watch(sources: MetricSources): void {
      gauge('queue_depth', 'Keys that are due.', ['controller'], (set) => {
        for (const { name, depth } of sources.queues()) set({ controller: name }, depth);
      });
      gauge('queue_failing', 'Keys whose last run failed.', ['controller'], (set) => {
        for (const { name, failing } of sources.queues()) set({ controller: name }, failing);
      });
      gauge('watch_age_seconds', 'Time since a watch heard from the API server.', ['resource'], (set) => {
        for (const { resource, ageMs } of sources.watches()) set({ resource }, ageMs / 1000);
      });
      gauge('watched_objects', 'Objects in memory.', ['resource'], (set) => {
        for (const { resource, objects } of sources.watches()) set({ resource }, objects);
      });
      gauge('watch_missed_changes', 'Changes found only by a resync.', ['resource'], (set) => {
        for (const { resource, missed } of sources.watches()) set({ resource }, missed);
      });
      gauge('watch_failures', 'Lists and watches that failed.', ['resource'], (set) => {
        for (const { resource, failures } of sources.watches()) set({ resource }, failures);
      });
      gauge('leader', '1 while this process leads.', [], (set) => set({}, sources.isLeading() ? 1 : 0));
      gauge('redis_up', '1 while publishing works.', [], (set) => set({}, sources.isRedisUp() ? 1 : 0));
      gauge(
        'queue_refused',
        '1 while requests may not be queued: Redis may lose them, or is full.',
        [],
        (set) => set({}, sources.isQueueRefused() ? 1 : 0),
      );
      gauge(
        'storage_credentials',
        'StorageCredentials, by their condition Verified.',
        ['verified'],
        (set) => {
          for (const { verified, count } of sources.credentials()) set({ verified }, count);
        },
      );
      gauge('sidecars', 'Deployments by their state in the rollout of sidecars.', ['state'], (set) => {
        const { outdated, excluded, rolling, failed } = sources.sidecars();
        for (const [state, count] of Object.entries({ outdated, excluded, rolling, failed }))
          set({ state }, count);
      });
      gauge('sidecar_rollout_stopped', '1 while the rollout of sidecars has stopped by itself.', [], (set) =>
        set({}, sources.sidecars().isStopped ? 1 : 0),
      );
      const scaling = (name: string, help: string, read: (sample: ScalingSample) => number | undefined) =>
        gauge(`scaling_${name}`, help, ['namespace', 'deployment'], (set) => {
          for (const sample of sources.scaling()) {
            const value = read(sample);
            const { namespace, name: deployment } = sample;
            if (value !== undefined) set({ namespace, deployment }, value);
          }
        });
      scaling('wanted_replicas', 'Replicas that the autoscaler requests.', ({ wanted }) => wanted);
      scaling('ready_replicas', 'Replicas that are ready, at the last decision.', ({ ready }) => ready);
      scaling('demand', 'Requests under way, waiting and held, on average.', ({ demand }) => demand);
      scaling('held_requests', 'Requests that fronts hold until a replica is ready.', ({ held }) => held);
      scaling('decision_age_seconds', 'Time since the last decision.', ({ ageMs }) => ageMs / 1_000);
      gauge(
        'failing_conditions',
        'Conditions of objects that are False and should not be.',
        ['kind', 'namespace', 'name', 'condition', 'reason'],
        (set) => {
          for (const condition of listFailingConditions(sources.objects()?.all ?? []))
            set({ ...condition }, 1);
        },
      );
      const deployments = () => describeDeployments(sources.objects()?.models ?? []);
      gauge('deployments', 'ModelDeployments by their phase.', ['phase'], (set) => {
        const phases = new Map<string, number>();
        for (const { phase } of deployments()) phases.set(phase, (phases.get(phase) ?? 0) + 1);
        for (const [phase, count] of phases) set({ phase }, count);
      });
      gauge('replicas', 'Replicas of ModelDeployments.', ['namespace', 'deployment', 'state'], (set) => {
        for (const { namespace, deployment, desired, ready } of deployments()) {
          set({ namespace, deployment, state: 'desired' }, desired);
          set({ namespace, deployment, state: 'ready' }, ready);
        }
      });
      gauge('credit', 'Credit of a workspace, in the currency of prices.', ['namespace', 'state'], (set) => {
        for (const { namespace, granted, remaining } of describeCredits(
          sources.objects()?.workspaces ?? [],
        )) {
          set({ namespace, state: 'granted' }, granted);
          set({ namespace, state: 'remaining' }, remaining);
        }
      });
      gauge(
        'budget',
        'Budgets of owners and keys in their current period, in the currency of prices; at most 1,000.',
        ['namespace', 'holder', 'name', 'state'],
        (set) => {
          const { workspaces = [], keys = [] } = sources.objects() ?? {};
          for (const { amount, spent, ...labels } of describeBudgets(workspaces, keys)) {
            set({ ...labels, state: 'amount' }, amount);
            set({ ...labels, state: 'spent' }, spent);
          }
        },
      );
      gauge('redis_memory_bytes', 'Memory of Redis: used, and its limit.', ['state'], (set) => {
        const memory = sources.redisMemory();
        if (!memory) return;
        set({ state: 'used' }, memory.used);
        set({ state: 'max' }, memory.max);
      });
      new Gauge({
        name: 'berth_slo_target_ratio',
        help: 'Share of requests that spec.slo promises.',
        labelNames: ['namespace', 'deployment', 'objective'],
        registers,
        collect() {
          this.reset();
          for (const { namespace, deployment, targets } of deployments())
            for (const [objective, ratio] of targets) this.set({ namespace, deployment, objective }, ratio);
        },
      });
      gauge('events_dropped', 'Events that were not written.', [], (set) => set({}, sources.droppedEvents()));
    },
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };

  function gauge(
    name: string,
    help: string,
    labelNames: string[],
    collect: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    new Gauge({
      name: `berth_operator_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        collect((labels, value) => this.set(labels, value));
      },
    });
  }
}
