import {
  type DashboardDefinition,
  DEPLOYMENT,
  NAMESPACE,
  OF_DEPLOYMENT,
  quantile,
  quantiles,
  query,
  RATE,
  rateOf,
} from './queries.ts';

/** One deployment. */
export const ONE_DEPLOYMENT: DashboardDefinition = {
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
      title: 'Prompt tokens found in the cache',
      description: 'Beyond the GPU: in the memory or on the disk of spec.engine.kvCache.',
      queries: [
        query(`sum(rate(vllm:prefix_cache_hits_total{${OF_DEPLOYMENT}}${RATE}))`, 'vLLM'),
        query(
          `sum(rate(vllm:external_prefix_cache_hits_total{${OF_DEPLOYMENT}}${RATE}))`,
          'vLLM, beyond the GPU',
        ),
        query(
          rateOf('sglang:cached_tokens_total', 'cache_source', OF_DEPLOYMENT),
          'SGLang, {{cache_source}}',
        ),
      ],
    },
    {
      title: 'KV cache in memory, used',
      unit: 'percentunit',
      max: 1,
      queries: [
        query(`max by (pod) (vllm:kv_offload_cpu_cache_usage_perc{${OF_DEPLOYMENT}})`, '{{pod}}'),
        query(
          `sum by (pod) (sglang:hicache_host_used_tokens{${OF_DEPLOYMENT}}) / sum by (pod) (sglang:hicache_host_total_tokens{${OF_DEPLOYMENT}})`,
          '{{pod}}',
        ),
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
