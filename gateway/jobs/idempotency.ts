/**
 * Recognizes a repeated request by its idempotency key, and what differs from the original by a digest of each field
 * (docs/api.md, "Idempotency").
 */

import { createHash, createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { digestIdempotencyKey, type Modality } from '../../api/request.ts';
import { isRedisAway } from '../../redis/client.ts';
import { findEarlierRequest } from '../../redis/requests/request-record.ts';
import { noteReplay } from '../../redis/requests/request-replays.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { IdempotentRepeat } from './media-request.ts';
import { estimateRepeat } from './pace.ts';
import type { MediaServices } from './services.ts';

export interface RepeatQuestion {
  modality: Modality;
  /** The header; null: never a repeat. */
  idempotencyKey: string | null;
  /** Texts of its documented fields. */
  listTexts: () => FieldTexts;
  files?: FormFiles;
}

/**
 * The earlier request, or the fingerprint of a new one (null without a key). Called before validation, so that a
 * repeat that lacks a field gets the original. Throws as `acceptRepeat`.
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
  const earlier = await findEarlierRequest(services.redis, config.namespace, digest);
  if (!earlier) return { kind: 'new', fingerprint };
  const { record } = earlier;
  acceptRepeat(services, state, { id: record.id, original: earlier.fingerprint, repeat: fingerprint });
  const slots = services.countSlots(state);
  const estimatedSeconds = await estimateRepeat(services.redis, config, { record, slots });
  return { kind: 'repeat', record, estimatedSeconds };
}

/**
 * Marks the response as that of an earlier request, and names the fields that differ from it; both are recorded in that request. Throws
 * ApiError: 409 if some do and the deployment is strict.
 */
export function acceptRepeat(
  services: MediaServices,
  state: GatewayState,
  { id, original, repeat }: { id: string; original: string; repeat: string },
): void {
  const { namespace, idempotency } = services.config(state);
  const differing = listDifferences(original, repeat);
  if (idempotency === 'Strict' && differing.length > 0) throw refuseReuse(differing);
  const { exchange } = state;
  exchange.isReplay = true;
  exchange.headers.push('idempotent-replayed', 'true');
  if (differing.length > 0) exchange.headers.push('x-berth-idempotency-differs', differing.join(', '));
  noteReplay(services.redis, { namespace, id, differing }).catch((error) => {
    if (!isRedisAway(error)) services.log.warn({ err: error }, 'a replayed request could not be recorded');
  });
}

const refuseReuse = (differing: readonly string[]): ApiError =>
  new ApiError(
    'idempotency_key_reused',
    `This Idempotency-Key was used in the last 24 hours for a request with a different \`${differing[0]}\`: ` +
      'send a new key with a new request.',
    { param: 'Idempotency-Key' },
  );

/** Fields cannot be guessed from it without the header, which is not stored. */
const DIGEST_DIGITS = 16;

export type FieldTexts = readonly (readonly [name: string, text: string])[];

export type FormFiles = readonly { field: string; file: { path: string } }[];

/** `name:digest` of each field, with commas between. */
export function fingerprintFields(fields: FieldTexts, secret: { sha256: string; header: string }): string {
  const key = `${secret.sha256}\n${secret.header}`;
  return fields.map(([name, text]) => `${name}:${digest(key, name, text)}`).join(',');
}

const digest = (key: string, name: string, text: string): string =>
  createHmac('sha256', key).update(`${name}\n${text}`).digest('hex').slice(0, DIGEST_DIGITS);

/** The fields of the repeat that differ from the original; omitted fields count as equal. */
export function listDifferences(original: string, repeat: string): string[] {
  const known = new Set(original.split(','));
  const others = repeat === '' ? [] : repeat.split(',').filter((field) => !known.has(field));
  return others.map((field) => field.slice(0, field.lastIndexOf(':')));
}

/** Each file by its field and index. */
export async function listFileTexts(files: FormFiles): Promise<[name: string, text: string][]> {
  const turns = new Map<string, number>();
  const texts: [string, string][] = [];
  for (const { field, file } of files) {
    const turn = (turns.get(field) ?? 0) + 1;
    turns.set(field, turn);
    const hash = createHash('sha256');
    await pipeline(createReadStream(file.path), hash);
    texts.push([turn === 1 ? field : `${field}[${turn}]`, hash.digest('hex')]);
  }
  return texts;
}
