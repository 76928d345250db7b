/** The owner of prom-client in the console: the metrics. */
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { MetricsSource } from '../../../kit/admin-server.ts';

export interface ConsoleMetrics extends MetricsSource {
  /** `area`: the part of the API, such as `keys`; never a user-defined name. */
  count(request: { area: string; method: string; status: number; seconds: number }): void;
  countSignIn(outcome: 'ok' | 'refused'): void;
}

export function createMetrics(): ConsoleMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'berth_console_requests_total',
    help: 'Requests to the console API.',
    labelNames: ['area', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'berth_console_request_duration_seconds',
    help: 'Duration of requests to the console API, including streams.',
    labelNames: ['area'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const signIns = new Counter({
    name: 'berth_console_sign_ins_total',
    help: 'Sign-in attempts.',
    labelNames: ['outcome'],
    registers,
  });
  return {
    count: ({ area, method, status, seconds }) => {
      requests.inc({ area, method, status });
      durations.observe({ area }, seconds);
    },
    countSignIn: (outcome) => signIns.inc({ outcome }),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}
