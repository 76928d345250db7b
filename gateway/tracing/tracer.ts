/** Starts the traces of a gateway; loaded only if an endpoint is set. */
import { VERSION } from '../../api/names.ts';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import type { TracerOptions } from './exporter.ts';
import type { Tracer } from './span.ts';

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
