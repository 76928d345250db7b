/** Reads what a record says of its job; both sides of it are Berth's own. */
import type { Job, StoredJob } from '../engine/job.ts';

/** null for what this version does not know. */
export function parseJob(text: string): Job | StoredJob | null {
  try {
    const job = JSON.parse(text) as Job | StoredJob | null;
    if (job?.v !== 1) return null;
    if (job.kind === 'stored') return job.object ? job : null;
    const isWhole = Array.isArray(job.inputs) && typeof job.parameters?.prompt === 'string';
    return isWhole && (job.kind === 'image' || job.kind === 'video') ? job : null;
  } catch {
    return null;
  }
}
