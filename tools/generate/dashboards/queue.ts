import { type DashboardDefinition, quantile, query, rateOf } from './queries.ts';

/** The queue of images and videos. */
export const QUEUE: DashboardDefinition = {
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
