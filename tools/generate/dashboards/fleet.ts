import { type DashboardDefinition, quantile, query, RATE, ROUTED, rateOf, SERVER_ERRORS } from './queries.ts';

/** All deployments of the installation. */
export const FLEET: DashboardDefinition = {
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
