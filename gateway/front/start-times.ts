/** Estimates how long deployments take to start: as the operator measured it, else from the last start that a front observed. */
import { LRUCache } from 'lru-cache';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { KnownDeployment } from './directory.ts';

interface Start {
  /** By performance.now(); null while there are replicas, or none is wanted. */
  since: number | null;
  /** Duration of the last start; null before the first. */
  lastMs: number | null;
  /** No request needs it anymore, but it may become ready. */
  hasLapsed: boolean;
}

const MAX_REMEMBERED = 10_000;
/** For a start that takes longer than expected, and for one that is only observed, not measured. */
const LATE_RETRY_SECONDS = 5;
/** SDKs do not wait longer. */
const MAX_RETRY_SECONDS = 60;

export class StartTimes {
  readonly #starts = new LRUCache<string, Start>({ max: MAX_REMEMBERED });
  readonly #clock: () => number;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * Learns from the current publication. Whole seconds until its replicas are likely to be ready; undefined while some are, or
   * if unknown.
   */
  observe({ config, addresses }: Pick<KnownDeployment, 'config' | 'addresses'>): number | undefined {
    const isAway = addresses.length === 0 && !config.paused && !config.deleting;
    const known = this.#starts.get(keyOf(config));
    if (!isAway || (!config.scaling && config.replicas === 0)) {
      if (known && known.since !== null) this.#end(known, addresses.length > 0);
      return undefined;
    }
    // With scaling nothing starts before a request needs it.
    if (!config.scaling) this.begin(config);
    return this.estimateSeconds(config);
  }

  /** Marks it as starting, unless it already is. */
  begin(config: GatewayConfig): void {
    const start = this.#find(config);
    if (start.hasLapsed && (this.leftSeconds(config) ?? 0) <= 0) start.since = null;
    start.hasLapsed = false;
    start.since ??= this.#clock();
  }

  /** Nobody waits anymore: the start continues, but if it is overdue at the next demand, that is a new start. */
  lapse(deployment: Pick<GatewayConfig, 'namespace' | 'name'>): void {
    const start = this.#starts.get(keyOf(deployment));
    if (start) start.hasLapsed = true;
  }

  /** The rest of its startup time for `Retry-After`; undefined if unknown. */
  estimateSeconds(config: GatewayConfig): number | undefined {
    const left = this.leftSeconds(config);
    if (left === undefined) return undefined;
    if (left > 0 && config.scaling) return Math.min(MAX_RETRY_SECONDS, left);
    return Math.min(MAX_RETRY_SECONDS, Math.max(LATE_RETRY_SECONDS, left));
  }

  /** Whole seconds; 0 or less if it takes longer than expected. */
  leftSeconds(config: GatewayConfig): number | undefined {
    const start = this.#starts.get(keyOf(config));
    if (!config.scaling && (start?.since ?? null) === null) return undefined;
    const expectedMs = config.scaling?.loadTimeMs ?? start?.lastMs;
    if (expectedMs === undefined || expectedMs === null) return undefined;
    const elapsedMs = start && start.since !== null ? this.#clock() - start.since : 0;
    return Math.ceil((expectedMs - elapsedMs) / 1_000);
  }

  #end(start: Start, isReady: boolean): void {
    if (isReady) start.lastMs = this.#clock() - start.since!;
    start.since = null;
    start.hasLapsed = false;
  }

  #find(config: GatewayConfig): Start {
    const known = this.#starts.get(keyOf(config));
    if (known) return known;
    const start = { since: null, lastMs: null, hasLapsed: false };
    this.#starts.set(keyOf(config), start);
    return start;
  }
}

const keyOf = ({ namespace, name }: Pick<GatewayConfig, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;
