/** The WebhookEndpoint resource: a subscription to events (docs/api.md, "Webhooks"). */
import { z } from 'zod';
import { BATCH_EVENT_TYPES } from './batch.ts';
import { conditions, customObject, observedGeneration, type ResourceDefinition } from './kubernetes-types.ts';
import { BUDGET_WARNING, EVENT_OF_STATUS, type EventType } from './request.ts';

const REQUEST_EVENT_TYPES = Object.values(EVENT_OF_STATUS);
const EVENT_TYPES: readonly EventType[] = [...REQUEST_EVENT_TYPES, ...BATCH_EVENT_TYPES, BUDGET_WARNING];

export const webhookEndpointSpec = z.object({
  url: z.string().min(1).max(2048).describe('Public HTTPS address.'),
  eventTypes: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .max(EVENT_TYPES.length)
    .default([...REQUEST_EVENT_TYPES])
    .describe('Events to deliver; by default all of requests, and none of batches and budgets.'),
  enabled: z.boolean().default(true).describe('Whether events are delivered.'),
  signingSecret: z
    .enum(['Workspace', 'Own'])
    .default('Workspace')
    .describe(
      'Workspace: the secret of the workspace signs its deliveries; Own: a secret of its own, in the Secret berth-signing-secret under the key endpoint_<name>.',
    ),
});

export const webhookEndpointStatus = z.object({
  observedGeneration,
  consecutiveFailures: z
    .int()
    .optional()
    .describe('Consecutive deliveries that failed permanently; at 20 the endpoint is disabled.'),
  countsFor: z
    .string()
    .optional()
    .describe('Digest of url, enabled and the annotation berth.dev/re-enable: a change restarts the count.'),
  conditions,
});

export const webhookEndpoint = customObject('WebhookEndpoint', webhookEndpointSpec, webhookEndpointStatus);
export type WebhookEndpoint = z.infer<typeof webhookEndpoint>;

export const webhookEndpointResource: ResourceDefinition = {
  kind: 'WebhookEndpoint',
  plural: 'webhookendpoints',
  singular: 'webhookendpoint',
  shortNames: ['wh'],
  spec: webhookEndpointSpec,
  status: webhookEndpointStatus,
  columns: [
    { name: 'URL', type: 'string', jsonPath: '.spec.url' },
    { name: 'Enabled', type: 'boolean', jsonPath: '.spec.enabled' },
    { name: 'Active', type: 'string', jsonPath: '.status.conditions[?(@.type=="Active")].status' },
    { name: 'Failures', type: 'integer', jsonPath: '.status.consecutiveFailures' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
