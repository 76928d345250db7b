/** Starts the traces of a gateway; loaded only if an endpoint is set. */
import { VERSION } from '../../api/names.ts';
import type { Logger } from '../../kit/log.ts';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import type { Span, SpanOptions } from './span.ts';
import type { TraceContext } from './trace-context.ts';

export interface RootOptions extends SpanOptions {
  /** The parent, possibly in another process. */
  parent: TraceContext | null;
}

export interface Tracer {
  /** The first span of this process in a trace: when it ends, all are exported if the trace is sampled or one has failed. */
  begin(name: string, options: RootOptions): Span;
  /** Exports the rest, within a short time limit. */
  close(): Promise<void>;
}

export interface TracerOptions {
  /** Attributes that all spans have in common. */
  resource: Readonly<Record<string, string>>;
  log: Logger;
  /** Counts spans that were exported, or dropped because the queue was full or they were refused. */
  onSpans: (outcome: 'exported' | 'dropped', count: number) => void;
}

/** By OpenTelemetry's names of services and of Kubernetes. */
export const describeProgram = (
  service: string,
  { pod, namespace, deployment }: { pod: string; namespace?: string; deployment?: string },
): Readonly<Record<string, string>> => ({
  'service.name': service,
  'service.version': VERSION,
  'service.instance.id': pod,
  'k8s.pod.name': pod,
  ...(namespace !== undefined && { 'k8s.namespace.name': namespace }),
  ...(deployment !== undefined && { 'k8s.deployment.name': deployment }),
});

/** null: nothing is traced. */
export async function openTracer(
  settings: TracingSettings | null,
  options: TracerOptions,
): Promise<Tracer | null> {
  if (!settings) return null;
  const { createTracer } = await import('./recording.ts');
  return createTracer(settings, options);
}
