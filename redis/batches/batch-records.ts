/** Batches: their records, and the claims of workers on chunks of their lines. */
import { BATCH_STATUSES, type BatchChunk, type BatchError, type BatchStatus } from '../../api/batch.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { StoredObject } from '../../api/request.ts';
import type { RedisClient } from '../client.ts';
import { BATCH_FIELDS, type ChunkMode, callFunction, type Replies } from '../function-table.ts';
import { decodeObject, encodeObject } from '../requests/object-cleanup.ts';
import { parseCount } from '../untrusted-values.ts';
import { decodeChunk, decodeErrors, nameFields } from './batch-files.ts';

export interface NewBatch {
  namespace: string;
  deployment: string;
  /** `generateBatchId`; the token of this call. */
  id: string;
  file: string;
  outputFile: string;
  errorFile: string;
  endpoint: string;
  /** Why no line is run; empty: they are. */
  errors: readonly BatchError[];
  /** As the client wrote it. */
  window: string;
  windowMs: number;
  /** How long what it writes is kept, from its end on. */
  keepMs: number;
  /** SHA-256 of the API key, which lines count and are charged for. */
  sha256: string;
  keyName: string;
  /** JSON, or ''. */
  metadata: string;
}

/** Times in Unix milliseconds; null: not yet, or never. */
export interface BatchRecord {
  id: string;
  status: BatchStatus;
  deployment: string;
  file: string;
  endpoint: string;
  createdAt: number;
  expiresAt: number;
  window: string;
  lines: number;
  completed: number;
  failed: number;
  errors: BatchError[];
  outputFile: string | null;
  errorFile: string | null;
  cancellingAt: number | null;
  finalizingAt: number | null;
  endedAt: number | null;
  metadata: string;
  usage: { inputTokens: number; cachedTokens: number; outputTokens: number; totalTokens: number };
}

export async function createBatch(
  redis: RedisClient,
  batch: NewBatch,
): Promise<{ verdict: Replies['createBatch'][0]; reason?: string | undefined }> {
  const { namespace, deployment, id, file, windowMs, keepMs } = batch;
  const fields = {
    endpoint: batch.endpoint,
    window: batch.window,
    output_file: batch.outputFile,
    error_file: batch.errorFile,
    key_hash: batch.sha256,
    key_name: batch.keyName,
    metadata: batch.metadata,
  };
  const errors = batch.errors.length > 0 ? JSON.stringify(batch.errors) : '';
  const [verdict, reason] = await callFunction(
    redis,
    'createBatch',
    [workKeys(namespace).batch(id)],
    { namespace, id, deployment, file, errors, windowMs, keepMs },
    Object.entries(fields).flat(),
  );
  return { verdict, reason };
}

/** In the order of the ids; null for each that is unknown. At most READ_AT_ONCE. */
export async function readBatches(
  redis: RedisClient,
  namespace: string,
  ids: readonly string[],
): Promise<(BatchRecord | null)[]> {
  if (ids.length === 0) return [];
  const key = workKeys(namespace).batch(ids[0]!);
  const records = await callFunction(redis, 'readBatches', [key], { namespace }, ids);
  return records.map((values, index) => decodeBatch(ids[index]!, nameFields(BATCH_FIELDS, values)));
}

function decodeBatch(id: string, fields: Record<string, string | undefined>): BatchRecord | null {
  const status = BATCH_STATUSES.find((each) => each === fields.status);
  if (!status || !fields.deployment) return null;
  const count = (name: string) => parseCount(fields[name]) ?? 0;
  const hasEnded = fields.ended_at !== undefined;
  return {
    id,
    status,
    deployment: fields.deployment,
    file: fields.file ?? '',
    endpoint: fields.endpoint ?? '',
    createdAt: count('created_at'),
    expiresAt: count('expires_at'),
    window: fields.window ?? '',
    lines: count('lines'),
    completed: count('completed'),
    failed: count('failed'),
    errors: decodeErrors(fields.errors),
    outputFile: hasEnded && count('output_bytes') > 0 ? fields.output_file! : null,
    errorFile: hasEnded && count('error_bytes') > 0 ? fields.error_file! : null,
    cancellingAt: parseCount(fields.cancelling_at),
    finalizingAt: parseCount(fields.finalizing_at),
    endedAt: parseCount(fields.ended_at),
    metadata: fields.metadata ?? '',
    usage: {
      inputTokens: count('input_tokens'),
      cachedTokens: count('cached_tokens'),
      outputTokens: count('output_tokens'),
      totalTokens: count('total_tokens'),
    },
  };
}

export const cancelBatch = (
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<Replies['cancelBatch']> =>
  callFunction(redis, 'cancelBatch', [workKeys(namespace).batch(id)], { namespace, id });

/** A worker's hold on a chunk. */
export interface ChunkClaim {
  namespace: string;
  /** The batch's. */
  id: string;
  chunk: string;
  /** 128 random bits, new for every claim. */
  token: string;
}

export interface ClaimedChunk {
  claim: ChunkClaim;
  mode: ChunkMode;
  place: BatchChunk;
  object: StoredObject;
  endpoint: string;
  sha256: string;
}

/** Longer than an outage that workers survive; a chunk that lost its worker waits for so long. */
export const CHUNK_LEASE_MS = 20_000;
export const CHUNK_RENEWAL_MS = 3_000;

export interface ChunkQuestion {
  namespace: string;
  /** null: only chunks whose lines are not run, of all deployments. */
  deployment: string | null;
  token: string;
  /** Batches of which none is claimed. */
  skipped?: readonly string[];
  leaseMs?: number;
}

export async function claimChunk(redis: RedisClient, question: ChunkQuestion): Promise<ClaimedChunk | null> {
  const { namespace, deployment, token, skipped = [], leaseMs = CHUNK_LEASE_MS } = question;
  const keys = workKeys(namespace);
  const key = deployment === null ? keys.closingBatches : keys.openBatches(deployment);
  const args = { namespace, deployment: deployment ?? '', token, leaseMs, skipped: skipped.join(' ') };
  const reply = await callFunction(redis, 'claimChunk', [key], args);
  if (!reply) return null;
  const [id, chunk, mode, place, object, endpoint, sha256] = reply;
  const at = decodeChunk(place);
  const stored = decodeObject(object ?? '');
  if (!at || !stored) throw new Error(`the chunk ${chunk} of the batch ${id} is none of ours`);
  return {
    claim: { namespace, id, chunk, token },
    mode,
    place: at,
    object: stored,
    endpoint: endpoint ?? '',
    sha256: sha256 ?? '',
  };
}

export const renewChunk = (redis: RedisClient, claim: ChunkClaim): Promise<Replies['renewChunk']> =>
  callFunction(redis, 'renewChunk', [workKeys(claim.namespace).batch(claim.id)], {
    ...claim,
    leaseMs: CHUNK_LEASE_MS,
  });

export const releaseChunk = (redis: RedisClient, claim: ChunkClaim): Promise<Replies['releaseChunk']> =>
  callFunction(redis, 'releaseChunk', [workKeys(claim.namespace).batch(claim.id)], { ...claim });

export interface ChunkOutcome {
  output: { object: StoredObject; bytes: number } | null;
  errors: { object: StoredObject; bytes: number } | null;
  completed: number;
  failed: number;
  micros: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  totalTokens: number;
}

/** Counts and charges a chunk with what it has written, once. */
export const finishChunk = (
  redis: RedisClient,
  claim: ChunkClaim,
  { output, errors, ...amounts }: ChunkOutcome,
): Promise<Replies['finishChunk']> =>
  callFunction(redis, 'finishChunk', [workKeys(claim.namespace).batch(claim.id)], {
    ...claim,
    ...amounts,
    outputObject: output ? encodeObject(output.object) : '',
    outputBytes: output?.bytes ?? 0,
    errorObject: errors ? encodeObject(errors.object) : '',
    errorBytes: errors?.bytes ?? 0,
  });
