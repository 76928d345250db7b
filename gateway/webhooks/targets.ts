/** Where one event goes. Pure. */
import type { PublishedEndpoint } from '../../contract/redis-keys.ts';
import { type DeliveryTarget, normalizeURL } from '../../redis/deliveries.ts';

/**
 * The endpoints that ask for it, then the request's own callback. Equal URLs stay: which of them one delivery is made for
 * is found where it is made, since an endpoint may be disabled by then (contract: Events).
 */
export function listTargets(
  event: { type: string; webhookUrl: string | null },
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): DeliveryTarget[] {
  const targets: DeliveryTarget[] = [];
  const add = (text: string, endpoint: string) => {
    const url = normalizeURL(text);
    if (url !== null) targets.push({ url, endpoint });
  };
  for (const [name, { url, eventTypes, enabled }] of endpoints)
    if (enabled && eventTypes.includes(event.type)) add(url, name);
  if (event.webhookUrl !== null) add(event.webhookUrl, '');
  return targets;
}
