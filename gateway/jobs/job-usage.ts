/** What an ended job counts as in the console's charts. */

import type { Job } from '../engine/job.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';

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
