/** A request as shown to clients: the request object and the Video object (docs/api.md, "Objects"). Pure. */
import type { RequestObject, VideoObject } from '../../api/api-objects.ts';
import { type RequestRecord, VIDEO_STATUS } from '../../api/request.ts';

const floorSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);
const toSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : floorSeconds(milliseconds);

/** `outputURLs` only in the detail of a successful request (docs/api.md, "Request"). */
export const describeRequest = (record: RequestRecord, outputURLs?: readonly string[]): RequestObject => ({
  id: record.id,
  object: 'inference.request',
  modality: record.modality,
  status: record.status,
  output_object_key: record.output?.keys[0] ?? null,
  output_bucket: record.output?.bucket ?? null,
  storage_provider: record.output?.provider ?? null,
  ...(outputURLs && { output_urls: [...outputURLs] }),
  error_code: record.errorCode,
  error_message: record.errorMessage,
  queued_at: floorSeconds(record.queuedAt),
  started_at: toSeconds(record.startedAt),
  completed_at: toSeconds(record.completedAt),
});

/** With OpenAI's nullable fields, which SDKs' types require (docs/api.md, "Video"). */
export const describeVideo = (record: RequestRecord, prompt: string | null): VideoObject => ({
  id: record.id,
  object: 'video',
  status: VIDEO_STATUS[record.status],
  model: record.model,
  progress: describeProgress(record),
  created_at: floorSeconds(record.queuedAt),
  completed_at: toSeconds(record.completedAt),
  expires_at: toSeconds(findExpiry(record)),
  size: record.size,
  seconds: record.seconds,
  prompt,
  remixed_from_video_id: null,
  error: record.status === 'failed' ? { code: record.errorCode, message: record.errorMessage } : null,
});

function describeProgress({ status, progress }: RequestRecord): number {
  if (status === 'succeeded') return 100;
  return status === 'queued' ? 0 : progress;
}

/** Unix milliseconds at which the result's files are deleted; null if never, or there are none. */
export function findExpiry({ output, completedAt }: RequestRecord): number | null {
  if (!output || output.retentionMs === null || completedAt === null) return null;
  return completedAt + output.retentionMs;
}

export const isExpired = (record: RequestRecord, now: number): boolean => {
  const expiry = findExpiry(record);
  return expiry !== null && now >= expiry;
};
