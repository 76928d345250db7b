/** The headers of a webhook delivery (docs/api.md, "Webhooks"). */

const USER_AGENT = 'Service-Webhook/1.0';

export interface DeliveryHeaders {
  /** `dlv_…`; the same for all attempts, as is the event's. */
  id: string;
  eventId: string;
  type: string;
  /** Unix seconds of the attempt. */
  timestamp: number;
  /** `X-Service-Signature`, with its time. */
  serviceSignature: string;
  /** Signature of the Standard Webhooks scheme. */
  standardSignature: string;
}

export const writeDeliveryHeaders = (delivery: DeliveryHeaders): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': USER_AGENT,
  'X-Service-Signature': delivery.serviceSignature,
  'X-Service-Event': delivery.type,
  'X-Service-Delivery-Id': delivery.id,
  'webhook-id': delivery.eventId,
  'webhook-timestamp': String(delivery.timestamp),
  'webhook-signature': delivery.standardSignature,
});
