/** Where one event goes. Pure. */
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import { type DeliveryTarget, normalizeURL } from '../../redis/deliveries/delivery-calls.ts';

/**
 * The endpoints that ask for it, then the request's own callback. Equal URLs stay: which of them one delivery is made for
 * is found where it is made, since an endpoint may be disabled by then (docs/api.md, "Webhooks").
 */
export function listTargets(
  event: { type: string; webhookUrl: string | null },
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): DeliveryTarget[] {
  const subscribed = [...endpoints]
    .filter(([, { enabled, eventTypes }]) => enabled && eventTypes.includes(event.type))
    .map(([name, { url }]) => ({ url, endpoint: name }));
  const callback = event.webhookUrl === null ? [] : [{ url: event.webhookUrl, endpoint: '' }];
  return [...subscribed, ...callback].flatMap(({ url, endpoint }) => {
    const normalized = normalizeURL(url);
    return normalized === null ? [] : [{ url: normalized, endpoint }];
  });
}
