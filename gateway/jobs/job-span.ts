/** A job's part of its request's trace: the wait in the queue, and the run of a worker. */
import type { RedisClient } from '../../redis/client.ts';
import type { ClaimedJob } from '../../redis/requests/request-calls.ts';
import { type RequestTrace, readRequestTrace } from '../../redis/requests/request-trace.ts';
import { readTraceContext, type Span, type Tracer } from '../tracing/span.ts';
import type { RunEnd } from './job-run.ts';

const UNKNOWN: RequestTrace = { traceparent: null, queuedAt: null };

/** From its submission; a later attempt from its claim. */
export async function beginJobSpan(tracer: Tracer, redis: RedisClient, job: ClaimedJob): Promise<Span> {
  const { claim, attempt } = job;
  const { traceparent, queuedAt } = await readRequestTrace(redis, claim.namespace, claim.id).catch(
    () => UNKNOWN,
  );
  const startedAt = attempt === 1 && queuedAt !== null ? { startedAt: queuedAt } : {};
  const span = tracer.begin('job', {
    kind: 'consumer',
    parent: traceparent === null ? null : readTraceContext({ traceparent }),
    attributes: { 'berth.job_id': claim.id, 'berth.attempt': attempt },
    ...startedAt,
  });
  if (attempt === 1) span.begin('queue', startedAt).end();
  return span;
}

/** A job that is released to others has not failed. */
export function endJobSpan(span: Span, outcome: RunEnd): void {
  if (outcome === 'succeeded') span.end();
  else if (outcome === 'released' || outcome === 'stale' || outcome === 'invalid_input') span.end(outcome);
  else span.fail(outcome);
}
