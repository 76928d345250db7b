/** What an ended job counts as in the console's charts. */
import type { DeploymentUsage } from '../usage.ts';
import type { Job } from './job.ts';

export function countJob(
  usage: DeploymentUsage,
  { status }: { status: 'succeeded' | 'failed' },
  { spec, milliseconds }: { spec: Job | null; milliseconds: number },
): void {
  usage.observe(milliseconds);
  if (status === 'failed') usage.add('serverErrors');
  else if (spec?.kind === 'image') usage.add('images', spec.parameters.n);
  else if (spec?.kind === 'video') {
    usage.add('videos');
    usage.add('videoMilliseconds', Math.round((spec.parameters.frames / spec.parameters.fps) * 1000));
  }
}
