/** Requests as the page shows them. Pure. */
import { z } from 'zod';
import { formatAmount } from '../../../api/amount.ts';
import { PERSONAL_KEY_PREFIX } from '../../../api/redis-keys.ts';
import type { RequestRecord } from '../../../api/request.ts';
import type { RequestCharge } from '../../../redis/requests/request-charge.ts';
import type { ChargeView, RequestView, SubmitterView } from '../../api.ts';
import { ConsoleError, type ConsoleErrorCode } from '../http/error.ts';
import type { KnownKey } from './key.ts';

const toISO = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

export const describeRecord = (record: RequestRecord): Omit<RequestView, keyof ChargeView> => ({
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

/** `keys`: of the workspace, by the digits of their hash. */
export function describeCharge(
  charge: RequestCharge | null,
  keys: ReadonlyMap<string, KnownKey>,
): ChargeView {
  if (charge === null) return { submitter: null, price: null, images: null };
  const { keyHash, keyName, micros, images } = charge;
  return {
    submitter: describeSubmitter(keyName, keys.get(keyHash)),
    price: formatAmount(micros),
    images,
  };
}

export function describeSubmitter(keyName: string | null, key?: KnownKey): SubmitterView | null {
  if (keyName?.startsWith(PERSONAL_KEY_PREFIX))
    return { kind: 'playground', name: keyName.slice(PERSONAL_KEY_PREFIX.length) };
  const name = keyName ?? key?.name;
  return name === undefined ? null : { kind: 'key', name, hint: key?.hint ?? null };
}

const envelope = z.object({ error: z.object({ message: z.string() }) });
const BY_STATUS: Record<number, ConsoleErrorCode> = { 404: 'not_found', 409: 'conflict' };

/** The error of an endpoint, with its message. */
export function readEndpointError(status: number, answer: unknown): ConsoleError {
  const read = envelope.safeParse(answer);
  const message = read.success ? read.data.error.message : `The endpoint returned HTTP ${status}.`;
  return new ConsoleError(BY_STATUS[status] ?? 'upstream_error', message);
}
