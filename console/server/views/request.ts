/** Requests as the page shows them. Pure. */
import { z } from 'zod';
import type { RequestRecord } from '../../../api/request.ts';
import type { RequestView } from '../../api.ts';
import { ConsoleError, type ConsoleErrorCode } from '../http/error.ts';

const toISO = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

export const describeRecord = (record: RequestRecord): Omit<RequestView, 'cursor'> => ({
  id: record.id,
  deployment: record.deployment,
  modality: record.modality,
  model: record.model,
  status: record.status,
  progress: record.status === 'succeeded' ? 100 : record.progress,
  size: record.size || null,
  seconds: record.seconds || null,
  queuedAt: new Date(record.queuedAt).toISOString(),
  startedAt: toISO(record.startedAt),
  completedAt: toISO(record.completedAt),
  errorCode: record.errorCode,
  errorMessage: record.errorMessage,
});

const envelope = z.object({ error: z.object({ message: z.string() }) });
const BY_STATUS: Record<number, ConsoleErrorCode> = { 404: 'not_found', 409: 'conflict' };

/** The error of an endpoint, with its message. */
export function readEndpointError(status: number, answer: unknown): ConsoleError {
  const read = envelope.safeParse(answer);
  const message = read.success ? read.data.error.message : `The endpoint returned HTTP ${status}.`;
  return new ConsoleError(BY_STATUS[status] ?? 'upstream_error', message);
}
