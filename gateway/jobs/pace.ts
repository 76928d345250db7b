/** How long a deployment's jobs take: measured, or estimated until the first has ended. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RequestRecord } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { FUNCTIONS } from '../../redis/function-table.ts';
import { countWaiting } from '../../redis/requests/request-record.ts';
import { parseCount } from '../../redis/untrusted-values.ts';
import type { Job } from '../engine/job.ts';

const IMAGE_MS = 10_000;
/** Work per second of video. */
const VIDEO_SECOND_MS = 30_000;

/** Expected milliseconds of a job if none was measured. */
export function expectJobMs({ kind, parameters }: Pick<Job, 'kind' | 'parameters'>): number {
  if (kind === 'image' && 'n' in parameters) return IMAGE_MS * parameters.n;
  if ('frames' in parameters) return Math.ceil((VIDEO_SECOND_MS * parameters.frames) / parameters.fps);
  return IMAGE_MS;
}

/** The moving average of the deployment's jobs in milliseconds; null before the first. */
export async function readPace(
  redis: RedisClient,
  namespace: string,
  deployment: string,
): Promise<number | null> {
  const average = await redis.fcall(FUNCTIONS.pace, 1, workKeys(namespace).pace(deployment));
  return parseCount(average as string | null) || null;
}

/** Estimated remaining seconds of an earlier request; 0 once it has ended. */
export async function estimateRepeat(
  redis: RedisClient,
  { namespace, name }: { namespace: string; name: string },
  { record, slots }: { record: RequestRecord; slots: number },
): Promise<number> {
  const { status } = record;
  if (status !== 'queued' && status !== 'running') return 0;
  const [pace, waiting] = await Promise.all([
    readPace(redis, namespace, name),
    status === 'queued' ? countWaiting(redis, namespace, name) : 0,
  ]);
  return Math.max(1, Math.ceil(((waiting / slots + 1) * (pace ?? 1_000)) / 1_000));
}
