/** Recognises a request that its client sends again (docs/api.md, "Idempotency"). */
import { digestIdempotencyKey, type Modality } from '../../api/request.ts';
import { findSubmission } from '../../redis/requests/request-record.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/request-id.ts';
import {
  type FieldTexts,
  type FormFiles,
  findDifference,
  fingerprintFields,
  listFileTexts,
} from './fingerprint.ts';
import type { IdempotentRepeat } from './order.ts';
import { estimateRepeat } from './pace.ts';
import type { MediaServices } from './services.ts';

export interface RepeatQuestion {
  modality: Modality;
  /** The header; null: nothing is ever a repeat. */
  idempotencyKey: string | null;
  /** Of the documented fields that it has. */
  listTexts: () => FieldTexts;
  files?: FormFiles;
}

/**
 * The earlier request, or the fingerprint of a new one (null without a key). Asked before anything is checked, so that a
 * repeat which lacks a field gets the original. Throws ApiError: 409 where a field differs.
 */
export async function findRepeat(
  services: MediaServices,
  state: GatewayState,
  { modality, idempotencyKey: header, listTexts, files = [] }: RepeatQuestion,
): Promise<IdempotentRepeat | { kind: 'new'; fingerprint: string | null }> {
  if (header === null) return { kind: 'new', fingerprint: null };
  const config = services.config(state);
  const fileTexts = await listFileTexts(files);
  const fingerprint = fingerprintFields([['path', state.route.path], ...listTexts(), ...fileTexts], {
    sha256: state.keyHash,
    header,
  });
  const digest = digestIdempotencyKey({ sha256: state.keyHash, deployment: config.name, modality, header });
  const earlier = await findSubmission(services.redis, config.namespace, digest);
  if (!earlier) return { kind: 'new', fingerprint };
  requireSame(earlier.fingerprint, fingerprint);
  const { record } = earlier;
  const slots = services.countSlots(state);
  const estimatedSeconds = await estimateRepeat(services.redis, config, { record, slots });
  return { kind: 'repeat', record, estimatedSeconds };
}

/** Throws ApiError. */
export function requireSame(original: string, repeat: string): void {
  const field = findDifference(original, repeat);
  if (field === null) return;
  throw new ApiError(
    'idempotency_key_reused',
    `This Idempotency-Key was used in the last 24 hours for a request with a different \`${field}\`: ` +
      'send a new key with a new request.',
    { param: 'Idempotency-Key' },
  );
}
