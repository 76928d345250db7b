/** Requests as the page shows them. Pure. */
import { z } from 'zod';
import { formatAmount } from '../../../api/amount.ts';
import type { RequestRecord } from '../../../api/request.ts';
import type { Charge } from '../../../redis/requests/request-charge.ts';
import type { RequestDetail, RequestView, SubmitterView } from '../../api.ts';
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

/** What the playground's keys are named by; no APIKey can be named so. */
const PLAYGROUND = /^console:(.*)$/;

/** `names`: of the workspace's keys, by the digits of their hash. */
export function describeCharge(
  charge: Charge | null,
  names: ReadonlyMap<string, string>,
): Pick<RequestDetail, 'submitter' | 'price' | 'images'> {
  if (charge === null) return { submitter: null, price: null, images: null };
  const { keyHash, keyName, micros, images } = charge;
  return {
    submitter: describeSubmitter(keyName ?? names.get(keyHash) ?? null),
    price: formatAmount(micros),
    images,
  };
}

function describeSubmitter(name: string | null): SubmitterView | null {
  if (name === null) return null;
  const user = PLAYGROUND.exec(name)?.[1];
  return user === undefined ? { kind: 'key', name } : { kind: 'playground', name: user };
}

const envelope = z.object({ error: z.object({ message: z.string() }) });
const BY_STATUS: Record<number, ConsoleErrorCode> = { 404: 'not_found', 409: 'conflict' };

/** The error of an endpoint, with its message. */
export function readEndpointError(status: number, answer: unknown): ConsoleError {
  const read = envelope.safeParse(answer);
  const message = read.success ? read.data.error.message : `The endpoint returned HTTP ${status}.`;
  return new ConsoleError(BY_STATUS[status] ?? 'upstream_error', message);
}
