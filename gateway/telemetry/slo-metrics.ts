/** Which requests of a deployment met its current service level objectives (decision 0285). */
import { LRUCache } from 'lru-cache';
import { Counter, type Registry } from 'prom-client';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Objective } from '../../api/model-slo.ts';

export interface PromisedService {
  slo: GatewayConfig['slo'];
  /** For a front's series; a sidecar's have them already. */
  labels?: { namespace: string; deployment: string };
}

export interface ServedRequest {
  /** Without client errors. */
  hasFailed: boolean;
  /** Set for a successful stream. */
  firstTokenMs: number | null;
}

export interface SLOMetrics {
  observe(service: PromisedService, request: ServedRequest): void;
}

/** Outcomes for an objective of a deployment. */
interface Outcomes {
  labels: Record<string, string>;
  good: number;
  bad: number;
}

/** A front sees all deployments over time; to Prometheus, a counter that restarts at 0 is the same. */
const MAX_OBJECTIVES = 10_000;
const FORGET_AFTER_MS = 86_400_000;

export function createSLOMetrics(register: Registry, now = () => performance.now()): SLOMetrics {
  const known = new LRUCache<string, Outcomes>({ max: MAX_OBJECTIVES, ttl: FORGET_AFTER_MS, perf: { now } });
  new Counter<string>({
    name: 'berth_slo_requests_total',
    help: 'Requests by whether they met an objective of spec.slo',
    labelNames: ['namespace', 'deployment', 'objective', 'outcome'],
    registers: [register],
    collect() {
      this.reset();
      // Both at once, so that the first bad one shows as an increase.
      for (const { labels, good, bad } of known.values()) {
        this.inc({ ...labels, outcome: 'good' }, good);
        this.inc({ ...labels, outcome: 'bad' }, bad);
      }
    },
  });
  const count = ({ labels }: PromisedService, objective: Objective, isGood: boolean) => {
    const key = `${labels?.namespace}/${labels?.deployment}/${objective}`;
    const outcomes = known.get(key) ?? { labels: { ...labels, objective }, good: 0, bad: 0 };
    outcomes[isGood ? 'good' : 'bad']++;
    known.set(key, outcomes);
  };
  return {
    observe(service, { hasFailed, firstTokenMs }) {
      const { availability, timeToFirstToken } = service.slo ?? {};
      if (availability !== undefined) count(service, 'availability', !hasFailed);
      if (timeToFirstToken && firstTokenMs !== null && !hasFailed)
        count(service, 'time_to_first_token', firstTokenMs <= timeToFirstToken.withinMs);
    },
  };
}
