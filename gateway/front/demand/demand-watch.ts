/** Deployments' demand, for external autoscalers: sampled only while it is requested. */
import { LRUCache } from 'lru-cache';
import type { DeploymentName } from '../../../api/names.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import type { DeploymentSample } from '../../../redis/demand/demand.ts';
import { DemandTrend } from '../../../redis/demand/demand-trend.ts';

/** Demand as shown to callers. */
export interface DemandFigures {
  /** Slots that are or would be in use: on average over the last minute, as far as it was watched, with what the queue needs. */
  demand: number;
  /** Requests in progress at replicas. */
  in_flight: number;
  /** Requests held by fronts. */
  held: number;
  queued: number;
  running: number;
  /** Replicas. */
  ready: number;
}

export interface DemandWatchOptions {
  listWorkspaces: () => Promise<readonly string[]>;
  /** Samples of all deployments of these workspaces by `namespace/name`; throws while Redis is down. */
  read: (namespaces: readonly string[]) => Promise<ReadonlyMap<string, DeploymentSample>>;
  onError: (error: unknown) => void;
  clock?: Clock;
}

interface Watched {
  trend: DemandTrend;
  sample: DeploymentSample;
}

interface Workspace {
  /** By name. */
  deployments: Map<string, Watched>;
  /** By the clock. */
  readAt: number;
  askedAt: number;
}

const WINDOWS = { stableMs: 60_000, panicMs: 6_000, retentionMs: 60_000 };
const INTERVAL_MS = 5_000;
/** Within this time, the last sample is reused. */
const FRESH_MS = 1_000;
/** Longer than the polling interval of Prometheus, KEDA and an HPA. */
const WATCH_MS = 300_000;
/** Older samples are not exported: no value is better than a wrong one. */
const STALE_MS = 30_000;
const MAX_WORKSPACES = 5_000;
/** Per sample, so that no reply of Redis gets too large. */
const WORKSPACES_AT_ONCE = 200;
/** Queued work should be done within this time. */
const TARGET_WAIT_MS = 60_000;

export class DemandWatch {
  readonly #options: DemandWatchOptions;
  readonly #clock: Clock;
  readonly #workspaces = new LRUCache<string, Workspace>({ max: MAX_WORKSPACES });
  readonly #reading = new Map<string, Promise<void>>();
  #allAskedAt = Number.NEGATIVE_INFINITY;
  #cancelTick: (() => void) | null = null;
  #isClosed = false;

  constructor(options: DemandWatchOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** null: there is no such deployment. Throws while Redis is down. */
  async ask({ namespace, name }: DeploymentName): Promise<DemandFigures | null> {
    const workspace = await this.#refresh(namespace);
    workspace.askedAt = this.#clock.now();
    this.#schedule();
    const watched = workspace.deployments.get(name);
    return watched ? describeDemand(watched) : null;
  }

  /** The latest samples of all deployments, which are sampled from now on: none at the first call. */
  report(): (DeploymentName & DemandFigures)[] {
    const now = this.#clock.now();
    this.#allAskedAt = now;
    this.#schedule();
    return [...this.#workspaces.entries()]
      .filter(([, { readAt }]) => now - readAt <= STALE_MS)
      .flatMap(([namespace, { deployments }]) =>
        [...deployments].map(([name, watched]) => ({ namespace, name, ...describeDemand(watched) })),
      );
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancelTick) return;
    this.#cancelTick = this.#clock.after(INTERVAL_MS, () => {
      this.#tick()
        .catch(this.#options.onError)
        .finally(() => {
          this.#cancelTick = null;
          if (this.#workspaces.size > 0 || this.#isAllAsked()) this.#schedule();
        });
    });
  }

  async #tick(): Promise<void> {
    const now = this.#clock.now();
    const all = this.#isAllAsked() ? await this.#options.listWorkspaces() : [];
    const published = new Set(all.slice(0, MAX_WORKSPACES));
    for (const [namespace, { askedAt }] of [...this.#workspaces.entries()])
      if (now - askedAt <= WATCH_MS) published.add(namespace);
      else if (!published.has(namespace)) this.#workspaces.delete(namespace);
    const due = [...published].filter((namespace) => !this.#isFresh(namespace));
    for (let start = 0; start < due.length && !this.#isClosed; start += WORKSPACES_AT_ONCE)
      await this.#read(due.slice(start, start + WORKSPACES_AT_ONCE)).catch(this.#options.onError);
  }

  #isAllAsked = (): boolean => this.#clock.now() - this.#allAskedAt <= WATCH_MS;

  #isFresh(namespace: string): boolean {
    const known = this.#workspaces.peek(namespace);
    return known !== undefined && this.#clock.now() - known.readAt < FRESH_MS;
  }

  /** Concurrent calls share one read. */
  async #refresh(namespace: string): Promise<Workspace> {
    if (!this.#isFresh(namespace)) {
      const running = this.#reading.get(namespace);
      const reading = running ?? this.#read([namespace]).finally(() => this.#reading.delete(namespace));
      this.#reading.set(namespace, reading);
      await reading;
    }
    return this.#workspaces.get(namespace)!;
  }

  async #read(namespaces: readonly string[]): Promise<void> {
    const samples = await this.#options.read(namespaces);
    const readAt = this.#clock.now();
    const found = new Map<string, Workspace>();
    for (const namespace of namespaces) {
      const askedAt = this.#workspaces.peek(namespace)?.askedAt ?? Number.NEGATIVE_INFINITY;
      found.set(namespace, { deployments: new Map(), readAt, askedAt });
    }
    for (const [key, sample] of samples) {
      const [namespace = '', name = ''] = key.split('/');
      const trend =
        this.#workspaces.peek(namespace)?.deployments.get(name)?.trend ?? new DemandTrend(WINDOWS);
      trend.add(sample);
      found.get(namespace)?.deployments.set(name, { trend, sample });
    }
    for (const [namespace, workspace] of found) this.#workspaces.set(namespace, workspace);
  }
}

function describeDemand({ trend, sample: { replicas, fronts, jobs } }: Watched): DemandFigures {
  const ready = replicas.filter((replica) => replica.ready && !replica.draining).length;
  const inFlight = replicas.reduce((sum, { inflight }) => sum + inflight, 0);
  const held = fronts.reduce((sum, front) => sum + front.held, 0);
  const windowMs = Math.min(WINDOWS.stableMs, trend.spanMs);
  const average = windowMs > 0 ? (trend.average(windowMs) ?? 0) : inFlight + held;
  const backlog = (jobs.queued * (jobs.paceMs ?? 0)) / TARGET_WAIT_MS;
  // At zero replicas, a refused request counts like a running one.
  const least = trend.isWanted && ready === 0 ? 1 : 0;
  return {
    demand: Math.round(Math.max(least, average + backlog) * 1_000) / 1_000,
    in_flight: inFlight,
    held,
    queued: jobs.queued,
    running: jobs.running,
    ready,
  };
}
