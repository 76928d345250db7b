/** Where one event goes. Pure. */
import type { PublishedEndpoint } from '../../contract/redis-keys.ts';
import { type DeliveryTarget, normalizeURL } from '../../redis/deliveries.ts';

/**
 * One delivery for each distinct URL (contract: Events). An endpoint goes before the request's own callback: its log
 * and its counter then know of it.
 */
export function listTargets(
  event: { type: string; webhookUrl: string | null },
  endpoints: ReadonlyMap<string, PublishedEndpoint>,
): DeliveryTarget[] {
  const targets = new Map<string, DeliveryTarget>();
  const add = (text: string, endpoint: string) => {
    const url = normalizeURL(text);
    if (url !== null && !targets.has(url)) targets.set(url, { url, endpoint });
  };
  for (const [name, { url, eventTypes, enabled }] of endpoints)
    if (enabled && eventTypes.includes(event.type)) add(url, name);
  if (event.webhookUrl !== null) add(event.webhookUrl, '');
  return [...targets.values()];
}
