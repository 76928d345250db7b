/** What the dashboards show: panels with their queries, of the metrics in docs/metrics.md. */

export interface PanelQuery {
  expr: string;
  legend: string;
}

export interface PanelDefinition {
  title: string;
  description?: string;
  type?: 'timeseries' | 'stat' | 'table';
  /** As Grafana names it. */
  unit?: string;
  max?: number;
  queries: readonly PanelQuery[];
}

export interface DashboardDefinition {
  name: string;
  title: string;
  variables: readonly { name: string; query: string }[];
  panels: readonly PanelDefinition[];
}

const query = (expr: string, legend = ''): PanelQuery => ({ expr, legend });
const RATE = '[$__rate_interval]';

const rateOf = (metric: string, by: string, where = ''): string =>
  `sum by (${by}) (rate(${metric}${where && `{${where}}`}${RATE}))`;
const quantile = (share: number, metric: string, by: string, where = ''): string =>
  `histogram_quantile(${share}, sum by (${['le', ...(by ? [by] : [])].join(', ')}) (rate(${metric}_bucket${where && `{${where}}`}${RATE})))`;

const ROUTED = 'route!="none"';
const SERVER_ERRORS = `${ROUTED}, code=~"5.."`;

const NAMESPACE = { name: 'namespace', query: 'label_values(berth_gateway_requests_inflight, namespace)' };
const DEPLOYMENT = {
  name: 'deployment',
  query: 'label_values(berth_gateway_requests_inflight{namespace="$namespace"}, deployment)',
};
const IN_WORKSPACE = 'namespace="$namespace"';
const OF_DEPLOYMENT = 'namespace="$namespace", deployment="$deployment"';

const quantiles = (metric: string, where: string): PanelQuery[] =>
  [0.5, 0.95, 0.99].map((share) => query(quantile(share, metric, '', where), `p${share * 100}`));

const FLEET: DashboardDefinition = {
  name: 'fleet',
  title: 'Fleet',
  variables: [],
  panels: [
    {
      title: 'Requests',
      type: 'stat',
      unit: 'reqps',
      queries: [query(`sum(rate(berth_gateway_requests_total{${ROUTED}}${RATE}))`)],
    },
    {
      title: 'Server errors',
      type: 'stat',
      unit: 'percentunit',
      queries: [
        query(
          `(sum(rate(berth_gateway_requests_total{${SERVER_ERRORS}}${RATE})) or vector(0)) / sum(rate(berth_gateway_requests_total{${ROUTED}}${RATE}))`,
        ),
      ],
    },
    { title: 'Tokens', type: 'stat', queries: [query(`sum(rate(berth_gateway_tokens_total${RATE}))`)] },
    { title: 'In flight', type: 'stat', queries: [query('sum(berth_gateway_requests_inflight)')] },
    {
      title: 'Replicas ready',
      type: 'stat',
      queries: [query('sum(berth_operator_replicas{state="ready"})')],
    },
    {
      title: 'Replicas wanted',
      type: 'stat',
      queries: [query('sum(berth_operator_replicas{state="desired"})')],
    },
    {
      title: 'Requests by deployment',
      unit: 'reqps',
      queries: [
        query(
          `topk(20, ${rateOf('berth_gateway_requests_total', 'namespace, deployment', ROUTED)})`,
          '{{namespace}}/{{deployment}}',
        ),
      ],
    },
    {
      title: 'Server errors by deployment',
      unit: 'reqps',
      queries: [
        query(
          `topk(20, ${rateOf('berth_gateway_requests_total', 'namespace, deployment', SERVER_ERRORS)} > 0)`,
          '{{namespace}}/{{deployment}}',
        ),
      ],
    },
    {
      title: 'Time to first token, p95',
      unit: 's',
      queries: [
        query(
          `topk(20, ${quantile(0.95, 'gen_ai_server_time_to_first_token_seconds', 'namespace, deployment')})`,
          '{{namespace}}/{{deployment}}',
        ),
      ],
    },
    {
      title: 'Tokens by deployment',
      queries: [
        query(
          `topk(20, ${rateOf('berth_gateway_tokens_total', 'namespace, deployment')})`,
          '{{namespace}}/{{deployment}}',
        ),
      ],
    },
    {
      title: 'Engines by health',
      queries: [query('sum by (phase) (berth_gateway_engines)', '{{phase}}')],
    },
    {
      title: 'Deployments by phase',
      queries: [query('sum by (phase) (berth_operator_deployments)', '{{phase}}')],
    },
    {
      title: 'Error budgets, burn rate of the last hour',
      description: 'At 1, the budget of 30 days lasts 30 days; of deployments with spec.slo.',
      queries: [
        query(
          `sum by (namespace, deployment, objective) (rate(berth_slo_requests_total{outcome="bad"}[1h])) / sum by (namespace, deployment, objective) (rate(berth_slo_requests_total[1h])) / (1 - max by (namespace, deployment, objective) (berth_slo_target_ratio))`,
          '{{namespace}}/{{deployment}} {{objective}}',
        ),
      ],
    },
    {
      title: 'Limits reached',
      description: 'Requests answered with 429: keys or replicas at their limits.',
      unit: 'reqps',
      queries: [
        query(
          rateOf('berth_gateway_requests_total', 'namespace, deployment', 'code=~"429|529"'),
          '{{namespace}}/{{deployment}}',
        ),
      ],
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

const ONE_DEPLOYMENT: DashboardDefinition = {
  name: 'deployment',
  title: 'Deployment',
  variables: [NAMESPACE, DEPLOYMENT],
  panels: [
    {
      title: 'Requests by status',
      unit: 'reqps',
      queries: [query(rateOf('berth_gateway_requests_total', 'code', OF_DEPLOYMENT), '{{code}}')],
    },
    {
      title: 'Duration',
      unit: 's',
      queries: quantiles('berth_gateway_request_duration_seconds', OF_DEPLOYMENT),
    },
    {
      title: 'Time to first token',
      unit: 's',
      queries: quantiles('gen_ai_server_time_to_first_token_seconds', OF_DEPLOYMENT),
    },
    {
      title: 'Time per output token',
      unit: 's',
      queries: quantiles('gen_ai_server_time_per_output_token_seconds', OF_DEPLOYMENT),
    },
    {
      title: 'Tokens',
      queries: [query(rateOf('berth_gateway_tokens_total', 'direction', OF_DEPLOYMENT), '{{direction}}')],
    },
    {
      title: 'Tokens of a request',
      queries: [
        query(
          quantile(0.95, 'gen_ai_client_token_usage', 'gen_ai_token_type', OF_DEPLOYMENT),
          '{{gen_ai_token_type}}, p95',
        ),
      ],
    },
    {
      title: 'In flight, by replica',
      queries: [
        query(`sum by (pod) (berth_gateway_requests_inflight{${OF_DEPLOYMENT}})`, '{{pod}}'),
        query(`sum by (pod) (berth_gateway_jobs_running{${OF_DEPLOYMENT}})`, '{{pod}}, jobs'),
      ],
    },
    {
      title: 'Replicas',
      queries: [
        query(`max by (state) (berth_operator_replicas{${OF_DEPLOYMENT}})`, '{{state}}'),
        query(`max(berth_operator_scaling_wanted_replicas{${OF_DEPLOYMENT}})`, 'wanted by demand'),
      ],
    },
    {
      title: 'Engine health',
      queries: [
        query(`sum by (phase) (berth_gateway_engines{${OF_DEPLOYMENT}})`, '{{phase}}'),
        query(`sum(berth_engine_up{${OF_DEPLOYMENT}})`, 'answering'),
      ],
    },
    {
      title: 'Failures',
      unit: 'reqps',
      queries: [
        query(rateOf('berth_gateway_engine_errors_total', 'reason', OF_DEPLOYMENT), 'engine: {{reason}}'),
        query(
          rateOf('berth_gateway_aborted_requests_total', 'phase', OF_DEPLOYMENT),
          'client left: {{phase}}',
        ),
        query(
          rateOf(
            'gen_ai_server_request_duration_seconds_count',
            'error_type',
            `${OF_DEPLOYMENT}, error_type!=""`,
          ),
          '{{error_type}}',
        ),
      ],
    },
    {
      title: 'Objectives',
      description:
        'Share of requests that kept the objectives of spec.slo, over an hour, and what it promises.',
      unit: 'percentunit',
      max: 1,
      queries: [
        query(
          `sum by (objective) (rate(berth_slo_requests_total{${OF_DEPLOYMENT}, outcome="good"}[1h])) / sum by (objective) (rate(berth_slo_requests_total{${OF_DEPLOYMENT}}[1h]))`,
          '{{objective}}',
        ),
        query(`max by (objective) (berth_slo_target_ratio{${OF_DEPLOYMENT}})`, '{{objective}}, promised'),
      ],
    },
    {
      title: 'Forwarded to peers',
      unit: 'reqps',
      queries: [
        query(`sum(rate(berth_gateway_forwarded_requests_total{${OF_DEPLOYMENT}}${RATE}))`, 'forwarded'),
      ],
    },
    {
      title: 'Requests in the engine (vLLM)',
      queries: [
        query(`sum by (pod) (vllm:num_requests_running{${OF_DEPLOYMENT}})`, '{{pod}} running'),
        query(`sum by (pod) (vllm:num_requests_waiting{${OF_DEPLOYMENT}})`, '{{pod}} waiting'),
      ],
    },
    {
      title: 'Queue',
      queries: [query(`max(berth_queue_waiting{${OF_DEPLOYMENT}})`, 'waiting')],
    },
    {
      title: "Gateways' event loop, p99",
      description: 'Above 0.1 s the sidecar has too little CPU.',
      unit: 's',
      queries: [query(`max by (pod) (nodejs_eventloop_lag_p99_seconds{${OF_DEPLOYMENT}})`, '{{pod}}')],
    },
  ],
};

const WORKSPACE: DashboardDefinition = {
  name: 'workspace',
  title: 'Workspace',
  variables: [NAMESPACE],
  panels: [
    {
      title: 'Requests',
      unit: 'reqps',
      queries: [query(rateOf('berth_gateway_requests_total', 'deployment', IN_WORKSPACE), '{{deployment}}')],
    },
    {
      title: 'Server errors',
      unit: 'percentunit',
      queries: [
        query(
          `${rateOf('berth_gateway_requests_total', 'deployment', `${IN_WORKSPACE}, ${SERVER_ERRORS}`)} / ${rateOf('berth_gateway_requests_total', 'deployment', IN_WORKSPACE)}`,
          '{{deployment}}',
        ),
      ],
    },
    {
      title: 'Tokens',
      queries: [
        query(
          rateOf('berth_gateway_tokens_total', 'deployment, direction', IN_WORKSPACE),
          '{{deployment}} {{direction}}',
        ),
      ],
    },
    {
      title: 'Duration, p95',
      unit: 's',
      queries: [
        query(
          quantile(0.95, 'berth_gateway_request_duration_seconds', 'deployment', IN_WORKSPACE),
          '{{deployment}}',
        ),
      ],
    },
    {
      title: 'Credit',
      description: 'Of workspaces with spec.credit, in the currency of prices.',
      queries: [query(`max by (state) (berth_operator_credit{${IN_WORKSPACE}})`, '{{state}}')],
    },
    {
      title: 'Limits reached',
      unit: 'reqps',
      queries: [
        query(
          rateOf('berth_gateway_requests_total', 'deployment', `${IN_WORKSPACE}, code=~"429|529"`),
          '{{deployment}}',
        ),
      ],
    },
    {
      title: 'Replicas ready',
      queries: [
        query(
          `max by (deployment) (berth_operator_replicas{${IN_WORKSPACE}, state="ready"})`,
          '{{deployment}}',
        ),
      ],
    },
    {
      title: 'Queue',
      queries: [query(`max by (deployment) (berth_queue_waiting{${IN_WORKSPACE}})`, '{{deployment}}')],
    },
    {
      title: 'Images and jobs',
      unit: 'reqps',
      queries: [
        query(rateOf('berth_gateway_images_total', 'deployment', IN_WORKSPACE), '{{deployment}} images'),
        query(
          rateOf('berth_gateway_jobs_total', 'deployment, outcome', IN_WORKSPACE),
          '{{deployment}} jobs {{outcome}}',
        ),
      ],
    },
  ],
};

const QUEUE: DashboardDefinition = {
  name: 'queue',
  title: 'Queue and webhooks',
  variables: [],
  panels: [
    {
      title: 'Waiting',
      queries: [
        query('max by (namespace, deployment) (berth_queue_waiting)', '{{namespace}}/{{deployment}}'),
      ],
    },
    {
      title: 'Oldest request',
      unit: 's',
      queries: [
        query('max by (namespace, deployment) (berth_queue_oldest_seconds)', '{{namespace}}/{{deployment}}'),
      ],
    },
    {
      title: 'Time in the queue, p95',
      unit: 's',
      queries: [query(quantile(0.95, 'berth_gateway_queue_wait_seconds', 'modality'), '{{modality}}')],
    },
    {
      title: 'Duration of jobs, p95',
      unit: 's',
      queries: [query(quantile(0.95, 'berth_gateway_job_duration_seconds', 'modality'), '{{modality}}')],
    },
    {
      title: 'Jobs by outcome',
      unit: 'reqps',
      queries: [query(rateOf('berth_gateway_jobs_total', 'outcome'), '{{outcome}}')],
    },
    {
      title: 'Jobs running',
      queries: [
        query('sum by (namespace, deployment) (berth_gateway_jobs_running)', '{{namespace}}/{{deployment}}'),
        query('sum(berth_gateway_abandoned_jobs)', 'abandoned'),
      ],
    },
    {
      title: 'Webhook attempts',
      unit: 'reqps',
      queries: [query(rateOf('berth_gateway_webhook_attempts_total', 'outcome'), '{{outcome}}')],
    },
    {
      title: 'Time of an attempt, p95',
      unit: 's',
      queries: [query(quantile(0.95, 'berth_gateway_webhook_attempt_seconds', 'type'), '{{type}}')],
    },
    {
      title: 'Housekeeping',
      queries: [
        query(rateOf('berth_gateway_swept_requests_total', 'outcome'), 'requests {{outcome}}'),
        query(rateOf('berth_gateway_cleaned_objects_total', 'outcome'), 'objects {{outcome}}'),
      ],
    },
  ],
};

const OPERATOR: DashboardDefinition = {
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

export const DASHBOARDS: readonly DashboardDefinition[] = [FLEET, ONE_DEPLOYMENT, WORKSPACE, QUEUE, OPERATOR];
