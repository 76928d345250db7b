/** Work that an engine continues after its job was abandoned (decision 0160). */
import type { AbandonedEnd } from '../engine/video-call.ts';
import type { WorkerServices } from './services.ts';

type Sinks = Pick<WorkerServices, 'metrics' | 'log' | 'abandoned'>;

export function noteAbandoned({ metrics, log, abandoned }: Sinks, id: string): void {
  if (abandoned) abandoned.jobs++;
  metrics.abandonedJobs.inc();
  log.info({ job_id: id }, 'job abandoned; slot held until the engine finishes');
}

export function noteLetGo({ metrics, log, abandoned }: Sinks, id: string, end: AbandonedEnd): void {
  if (abandoned) abandoned.jobs--;
  metrics.abandonedJobs.dec();
  if (end === 'stuck') log.warn({ job_id: id }, 'engine still busy with a job abandoned long ago');
}
