import { type DashboardDefinition, quantile, query, rateOf } from './queries.ts';

/** The operator. */
export const OPERATOR: DashboardDefinition = {
  name: 'operator',
  title: 'Operator',
  variables: [],
  panels: [
    { title: 'Leaders', type: 'stat', queries: [query('sum(berth_operator_leader)')] },
    { title: 'Redis reachable', type: 'stat', queries: [query('max(berth_operator_redis_up)')] },
    { title: 'Queueing refused', type: 'stat', queries: [query('max(berth_operator_queue_refused)')] },
    {
      title: 'Memory',
      type: 'stat',
      unit: 'bytes',
      queries: [
        query('max(process_resident_memory_bytes and on (instance, job) berth_operator_leader == 1)'),
      ],
    },
    {
      title: 'Events dropped',
      type: 'stat',
      queries: [query('sum(berth_operator_events_dropped)')],
    },
    {
      title: 'Sidecar rollout stopped',
      type: 'stat',
      queries: [query('max(berth_operator_sidecar_rollout_stopped)')],
    },
    {
      title: 'Reconciliations',
      unit: 'ops',
      queries: [
        query(rateOf('berth_operator_reconciles_total', 'controller, outcome'), '{{controller}} {{outcome}}'),
      ],
    },
    {
      title: 'Time of a reconciliation, p95',
      unit: 's',
      queries: [query(quantile(0.95, 'berth_operator_reconcile_seconds', 'controller'), '{{controller}}')],
    },
    {
      title: 'Wait for a reconciliation, p95',
      unit: 's',
      queries: [query(quantile(0.95, 'berth_operator_queue_wait_seconds', 'lane'), '{{lane}}')],
    },
    {
      title: 'Work queues',
      queries: [
        query('sum by (controller) (berth_operator_queue_depth)', '{{controller}} due'),
        query('sum by (controller) (berth_operator_queue_failing)', '{{controller}} failing'),
      ],
    },
    {
      title: 'Calls of the API server',
      unit: 'reqps',
      queries: [query(rateOf('berth_operator_api_calls_total', 'verb, code'), '{{verb}} {{code}}')],
    },
    {
      title: 'Age of watches',
      unit: 's',
      queries: [query('max by (resource) (berth_operator_watch_age_seconds)', '{{resource}}')],
    },
    {
      title: 'Memory of Redis',
      unit: 'bytes',
      queries: [query('max by (state) (berth_operator_redis_memory_bytes)', '{{state}}')],
    },
    {
      title: 'Changes of scale',
      queries: [
        query(rateOf('berth_operator_scaling_changes_total', 'direction, cause'), '{{direction}}: {{cause}}'),
      ],
    },
    {
      title: 'Sidecars',
      queries: [query('max by (state) (berth_operator_sidecars)', '{{state}}')],
    },
    {
      title: 'Console requests',
      unit: 'reqps',
      queries: [query(rateOf('berth_console_requests_total', 'area, status'), '{{area}} {{status}}')],
    },
    {
      title: 'Storage credentials',
      queries: [query('max by (verified) (berth_operator_storage_credentials)', 'verified: {{verified}}')],
    },
    {
      title: 'Conditions that fail',
      type: 'table',
      queries: [
        query('max by (kind, namespace, name, condition, reason) (berth_operator_failing_conditions)'),
      ],
    },
  ],
};
