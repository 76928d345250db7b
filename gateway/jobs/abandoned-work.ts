/** Work that an engine continues after its job was abandoned (decision 0160). */
import type { AbandonedEnd } from '../engine/video-call.ts';
import type { WorkerServices } from './services.ts';

type Sinks = Pick<WorkerServices, 'telemetry' | 'jobs'>;

export function noteAbandoned({ telemetry: { metrics, log }, jobs }: Sinks, id: string): void {
  jobs.abandoned++;
  metrics.abandonedJobs.inc();
  log.info({ job_id: id }, 'job abandoned; slot held until the engine finishes');
}

export function noteLetGo({ telemetry: { metrics, log }, jobs }: Sinks, id: string, end: AbandonedEnd): void {
  jobs.abandoned--;
  metrics.abandonedJobs.dec();
  if (end === 'stuck') log.warn({ job_id: id }, 'engine still busy with a job abandoned long ago');
}
