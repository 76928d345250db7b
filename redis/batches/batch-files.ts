/** Files of batches: the uploaded ones, and what batches have written. */
import { type BatchChunk, type BatchError, CHUNK_BYTES, MAX_BATCH_LINE_BYTES } from '../../api/batch.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { StoredObject } from '../../api/request.ts';
import { isObject } from '../../kit/json.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, FILE_FIELDS, LIMITS, type Replies } from '../function-table.ts';
import { encodeObject } from '../requests/object-cleanup.ts';
import { parseCount } from '../untrusted-values.ts';

export interface NewFile {
  namespace: string;
  deployment: string;
  /** `generateFileId`; the token of this call. */
  id: string;
  name: string;
  bytes: number;
  object: StoredObject;
  chunks: readonly BatchChunk[];
  lines: number;
  /** That all lines ask for; '' if they do not agree. */
  endpoint: string;
  /** What is wrong with its lines. */
  errors: readonly BatchError[];
  keepMs: number;
}

/** Times in Unix milliseconds. */
export interface FileRecord {
  id: string;
  kind: 'input' | 'output' | 'error';
  deployment: string;
  name: string;
  bytes: number;
  createdAt: number;
  expiresAt: number;
  lines: number;
  endpoint: string;
  errors: BatchError[];
  /** The stored object of an uploaded file; null for others. */
  object: string | null;
  /** The batch that has written it; null for an uploaded one. */
  batch: string | null;
  /** How many the batch that has written it has. */
  chunks: number;
}

/** What a chunk has written: objects as `encodeObject` writes them, or ''. */
export interface BatchPart {
  outputObject: string;
  outputBytes: number;
  errorObject: string;
  errorBytes: number;
}

export function addFile(redis: RedisClient, file: NewFile): Promise<Replies['addFile']> {
  const { namespace, deployment, id, keepMs } = file;
  const fields = {
    name: file.name,
    bytes: file.bytes,
    lines: file.lines,
    endpoint: file.endpoint,
    errors: file.errors.length > 0 ? JSON.stringify(file.errors) : '',
  };
  return callFunction(
    redis,
    'addFile',
    [workKeys(namespace).file(id)],
    {
      namespace,
      id,
      deployment,
      object: encodeObject(file.object),
      chunks: file.chunks.map(encodeChunk).join(','),
      keepMs,
    },
    Object.entries(fields).flat(),
  );
}

const encodeChunk = ({ start, end, line, lines }: BatchChunk): string => `${start} ${end} ${line} ${lines}`;

/** One line may be longer than a chunk. */
const MAX_CHUNK_BYTES = CHUNK_BYTES + MAX_BATCH_LINE_BYTES;

/** null if it is none of ours. */
export function decodeChunk(text: string): BatchChunk | null {
  const [start, end, line, lines] = text.split(' ').map(parseCount);
  if (start == null || end == null || line == null || lines == null || end <= start) return null;
  return end - start <= MAX_CHUNK_BYTES ? { start, end, line, lines } : null;
}

/** In the order of the ids; null for each that is unknown. At most READ_AT_ONCE. */
export async function readFiles(
  redis: RedisClient,
  namespace: string,
  ids: readonly string[],
): Promise<(FileRecord | null)[]> {
  if (ids.length === 0) return [];
  const records = await callFunction(
    redis,
    'readFiles',
    [workKeys(namespace).file(ids[0]!)],
    { namespace },
    ids,
  );
  return records.map((values, index) => decodeFile(ids[index]!, nameFields(FILE_FIELDS, values)));
}

export const nameFields = (
  names: readonly string[],
  values: readonly (string | null)[],
): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? undefined]));

function decodeFile(id: string, fields: Record<string, string | undefined>): FileRecord | null {
  const { kind, deployment } = fields;
  if ((kind !== 'input' && kind !== 'output' && kind !== 'error') || !deployment) return null;
  return {
    id,
    kind,
    deployment,
    name: fields.name ?? '',
    bytes: parseCount(fields.bytes) ?? 0,
    createdAt: parseCount(fields.created_at) ?? 0,
    expiresAt: parseCount(fields.expires_at) ?? 0,
    lines: parseCount(fields.lines) ?? 0,
    endpoint: fields.endpoint ?? '',
    errors: decodeErrors(fields.errors),
    object: fields.object || null,
    batch: fields.batch || null,
    chunks: parseCount(fields.chunks) ?? 0,
  };
}

/** Read by others than who wrote them: what is no list of errors is empty. */
export function decodeErrors(text: string | undefined): BatchError[] {
  try {
    const list: unknown = JSON.parse(text || '[]');
    return Array.isArray(list) ? list.filter(isError) : [];
  } catch {
    return [];
  }
}

const isError = (value: unknown): value is BatchError =>
  isObject(value) && typeof value.code === 'string' && typeof value.message === 'string';

export const deleteFile = (
  redis: RedisClient,
  namespace: string,
  id: string,
): Promise<Replies['deleteFile']> =>
  callFunction(redis, 'deleteFile', [workKeys(namespace).file(id)], { namespace, id });

/** The parts of a batch in order, read a few at a time. Chunks that have written none are left out. */
export async function* readParts(
  redis: RedisClient,
  namespace: string,
  { batch, chunks }: { batch: string; chunks: number },
): AsyncGenerator<BatchPart> {
  for (let first = 0; first < Math.min(chunks, LIMITS.MAX_CHUNKS); first += LIMITS.READ_AT_ONCE) {
    const args = { namespace, id: batch, first };
    const parts = await callFunction(redis, 'readParts', [workKeys(namespace).batch(batch)], args);
    for (const text of parts) {
      const part = text ? decodePart(text) : null;
      if (part) yield part;
    }
  }
}

function decodePart(text: string): BatchPart | null {
  try {
    const [, outputObject, outputBytes, errorObject, errorBytes] = JSON.parse(text) as unknown[];
    if (typeof outputObject !== 'string' || typeof errorObject !== 'string') return null;
    return { outputObject, outputBytes: Number(outputBytes), errorObject, errorBytes: Number(errorBytes) };
  } catch {
    return null;
  }
}
