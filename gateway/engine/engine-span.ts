/** A call of an engine, or of a peer that relays to its own, as a span (OpenTelemetry's GenAI conventions). */
import type { TokenUsage } from '../account/account.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import type { Exchange } from '../http/exchange.ts';
import { findOperation } from '../telemetry/gen-ai-metrics.ts';
import type { Span } from '../tracing/span.ts';

export interface AskedModel {
  /** Name of the route. */
  route: string;
  /** The engine's preset. */
  provider: string;
  model: string;
}

/** `target`: null for the replica's own. */
export function beginEngineSpan(
  parent: Span,
  target: Pick<EngineTarget, 'origin' | 'local' | 'version'> | null,
  { route, provider, model }: AskedModel,
): Span {
  const { hostname, port } = new URL(target?.origin ?? 'http://127.0.0.1');
  const operation = findOperation(route) ?? route;
  return parent.begin(`${operation} ${model}`, {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'server.address': hostname,
      'server.port': Number(port) || undefined,
      'berth.peer': target === null || target.local ? undefined : true,
      'berth.version': target?.version,
    },
  });
}

/** Ends the span of streamed text. */
export function endEngineSpan(
  span: Span,
  { stream, firstByteAt }: Pick<Exchange, 'stream' | 'firstByteAt'>,
  { usage, error }: { usage: TokenUsage | null; error?: unknown },
): void {
  if (stream && firstByteAt > 0) {
    span.note('first token', firstByteAt);
    span.note('last token');
  }
  span.set({
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
  });
  span.end(error);
}
