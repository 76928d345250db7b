/** What a media order costs. Pure. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { shortestSeconds } from '../media/video-parameters.ts';
import type { MediaOrder } from './order.ts';

/** Millionths. A video is as long as it was asked for, but not shorter than the shortest that is made. */
export function priceOrder(order: MediaOrder, { pricing }: Pick<GatewayConfig, 'pricing'>): number {
  if (order.kind === 'image') return (pricing.perImage ?? 0) * order.parameters.n;
  const seconds = Math.max(order.askedSeconds, shortestSeconds(order.parameters.fps));
  return Math.round((pricing.perVideoSecond ?? 0) * seconds);
}
