import {
  type DashboardDefinition,
  IN_WORKSPACE,
  NAMESPACE,
  quantile,
  query,
  rateOf,
  SERVER_ERRORS,
} from './queries.ts';

/** One workspace. */
export const WORKSPACE: DashboardDefinition = {
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
