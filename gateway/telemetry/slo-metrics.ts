/** Which requests of a deployment kept its service level objectives, as its spec has them now. */
import { Counter, type Registry } from 'prom-client';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Objective } from '../../api/model-slo.ts';

export interface PromisedService {
  slo: GatewayConfig['slo'];
  /** Of a front's series; those of a sidecar have them already. */
  labels?: { namespace: string; deployment: string };
}

export interface ServedRequest {
  /** Without a fault of its caller's. */
  hasFailed: boolean;
  /** Of a stream that succeeded. */
  firstTokenMs: number | null;
}

export interface SLOMetrics {
  observe(service: PromisedService, request: ServedRequest): void;
}

export function createSLOMetrics(register: Registry): SLOMetrics {
  const requests = new Counter<string>({
    name: 'berth_slo_requests_total',
    help: 'Requests by whether they kept an objective of spec.slo',
    labelNames: ['namespace', 'deployment', 'objective', 'outcome'],
    registers: [register],
  });
  const count = ({ labels }: PromisedService, objective: Objective, isGood: boolean) => {
    // Both at once, so that the first bad one is a change.
    requests.inc({ ...labels, objective, outcome: 'good' }, isGood ? 1 : 0);
    requests.inc({ ...labels, objective, outcome: 'bad' }, isGood ? 0 : 1);
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
