/** WebhookEndpoints and deliveries as the page shows them. Pure. */
import type { Condition } from '../../../api/kubernetes-types.ts';
import type { WebhookEndpoint } from '../../../api/webhook-endpoint.ts';
import { writeDeliveryHeaders } from '../../../api/webhook-headers.ts';
import type { DeliveryRecord, LoggedAttempt } from '../../../redis/deliveries/delivery-log.ts';
import type { AttemptView, DeliveryView, WebhookView } from '../../api.ts';
import { ConsoleError } from '../http/error.ts';

const AUTO_DISABLED = 'AutoDisabled';
const DISABLED =
  'Disabled after 20 consecutive failed deliveries. Once the receiver works again, re-enable it and resend the failed deliveries.';

/** The condition for the current spec; undefined while there is none. */
export function findVerdict({ metadata, status }: WebhookEndpoint, type: 'Accepted' | 'Active') {
  const condition = status.conditions.find((each) => each.type === type);
  if (!condition || condition.status === 'Unknown') return undefined;
  return (condition.observedGeneration ?? 0) < metadata.generation ? undefined : condition;
}

export const isAutoDisabled = (endpoint: WebhookEndpoint): boolean =>
  findVerdict(endpoint, 'Active')?.reason === AUTO_DISABLED;

export function describeWebhook(endpoint: WebhookEndpoint): WebhookView {
  const { metadata, spec, status } = endpoint;
  return {
    name: metadata.name,
    url: spec.url,
    eventTypes: [...spec.eventTypes],
    enabled: spec.enabled,
    signingSecret: spec.signingSecret,
    ...evaluateState(endpoint),
    consecutiveFailures: status.consecutiveFailures ?? 0,
    createdAt: String(metadata.creationTimestamp ?? ''),
  };
}

/** Condition messages refer to the manifest field. */
export const nameField = (message: string): string => message.replace(/^spec\.url:? /, 'The URL ');

/** The problem with the URL, as a field error. */
export const refuseURL = ({ message }: Condition): ConsoleError =>
  new ConsoleError('refused', nameField(message), { param: 'url' });

function evaluateState(endpoint: WebhookEndpoint): Pick<WebhookView, 'state' | 'message'> {
  const accepted = findVerdict(endpoint, 'Accepted');
  if (accepted?.status === 'False') return { state: 'refused', message: nameField(accepted.message) };
  if (!endpoint.spec.enabled) return { state: 'disabled', message: '' };
  const active = findVerdict(endpoint, 'Active');
  if (!accepted || !active) return { state: 'pending', message: describePending(endpoint) };
  if (active.status === 'True') return { state: 'active', message: '' };
  if (active.reason === AUTO_DISABLED) return { state: 'auto-disabled', message: DISABLED };
  return { state: 'pending', message: active.message };
}

/** Such as a temporary DNS failure. */
function describePending({ status }: WebhookEndpoint): string {
  const unknown = status.conditions.find((each) => each.type === 'Accepted' && each.status === 'Unknown');
  return nameField(unknown?.message ?? '') || 'The URL has not been checked yet.';
}

export const describeDelivery = (record: DeliveryRecord): DeliveryView => ({
  id: record.id,
  eventId: record.eventId,
  type: record.type,
  requestId: record.requestId || null,
  url: record.url,
  endpoint: record.endpoint || null,
  isTest: record.isTest,
  state: record.state,
  attempts: record.attempts,
  status: record.status,
  error: record.error || null,
  createdAt: new Date(record.createdAt).toISOString(),
  endedAt: record.endedAt === null ? null : new Date(record.endedAt).toISOString(),
});

/** The digests of signatures are not kept. */
const DIGEST = '…';

export function describeAttempt(
  { id, eventId, type }: Pick<DeliveryRecord, 'id' | 'eventId' | 'type'>,
  { at, status, error, exchange }: LoggedAttempt,
): AttemptView {
  const timestamp = exchange && Math.floor(exchange.sentAt / 1_000);
  return {
    at: new Date(at).toISOString(),
    status,
    error,
    tookMs: exchange?.tookMs ?? null,
    requestHeaders:
      timestamp === null
        ? null
        : writeDeliveryHeaders({
            id,
            eventId,
            type,
            timestamp,
            serviceSignature: `t=${timestamp},v1=${DIGEST}`,
            standardSignature: `v1,${DIGEST}`,
          }),
    responseHeaders: exchange?.answerHeaders ?? {},
  };
}
