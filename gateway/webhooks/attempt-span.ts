/** An attempt to deliver a request's event, as a part of the request's trace. */
import type { RedisClient } from '../../redis/client.ts';
import type { Attempt, LeasedDelivery } from '../../redis/deliveries/delivery-calls.ts';
import { readRequestTrace } from '../../redis/requests/request-trace.ts';
import { readTraceContext, type Span, type Tracer } from '../tracing/span.ts';

export async function beginAttemptSpan(
  tracer: Tracer,
  redis: RedisClient,
  { namespace, requestId, id, url, type, attempt }: LeasedDelivery,
): Promise<Span> {
  const known = requestId ? await readRequestTrace(redis, namespace, requestId).catch(() => null) : null;
  return tracer.begin('webhook', {
    kind: 'client',
    parent: known?.traceparent ? readTraceContext({ traceparent: known.traceparent }) : null,
    attributes: {
      'http.request.method': 'POST',
      // Not its path, which may contain the receiver's secret.
      'server.address': URL.parse(url)?.hostname,
      'k8s.namespace.name': namespace,
      'berth.job_id': requestId || undefined,
      'berth.event': type,
      'berth.delivery_id': id,
      'berth.attempt': attempt,
    },
  });
}

export function endAttemptSpan(span: Span, { isDelivered, status }: Attempt): void {
  span.set({ 'http.response.status_code': status ?? undefined });
  if (isDelivered) span.end();
  else span.fail(status === null ? 'unreachable' : String(status));
}
