/** The result of a request whose job succeeded. */
import type { ResolvedLimits } from '../../api/model-limits.ts';
import type { Outcome } from '../../redis/requests/request-calls.ts';
import type { Job } from '../engine/job.ts';
import type { StoredFiles } from '../storage/uploads.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';

/** Managed results are kept this long after the last link to them could be requested. */
const LINK_LIFE_MS = 3_600_000;

export interface SuccessDetails {
  /** Name of the StorageCredential; null = managed storage. */
  credential: string | null;
  /** One a file; null where none could be signed. */
  links: readonly (string | null)[];
  limits: Pick<ResolvedLimits, 'resultRetentionMs'>;
  /** Unix milliseconds. */
  now?: number;
}

/** Managed objects are removed after their retention; a customer's are theirs (docs/api.md, "Results"). */
export function buildSuccess(
  { bucket, provider, objects }: StoredFiles,
  { credential, links, limits, now = Date.now() }: SuccessDetails,
): Outcome {
  const retentionMs = credential === null ? limits.resultRetentionMs : null;
  const removeInMs = retentionMs === null ? null : retentionMs + LINK_LIFE_MS;
  return {
    status: 'succeeded',
    output: { bucket, keys: objects.map(({ key }) => key), credential, provider, retentionMs },
    payload: {
      created: Math.floor(now / 1_000),
      data: objects.map(({ key }, index) => ({ url: links[index] ?? null, object_key: key })),
    },
    objects: objects.map((object) => ({ object, removeInMs })),
  };
}

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
