/** What a worker will need of an order: its files in the managed bucket, its parameters in the record. */
import { MAX_PARAMS_BYTES, type StoredObject } from '../../api/request.ts';
import type { Job, StoredJob } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/request-id.ts';
import { inputKey } from '../storage/object-keys.ts';
import { refuseUploads, UploadError } from '../storage/upload-error.ts';
import { storeFiles } from '../storage/uploads.ts';
import { listFiles, type MediaOrder, type UploadedFile } from './order.ts';
import type { MediaServices } from './services.ts';

export interface JobPlace {
  namespace: string;
  /** Of the request that is about to be submitted. */
  id: string;
  order: MediaOrder;
  state: GatewayState;
}

export interface SubmittedJob {
  /** At most MAX_PARAMS_BYTES. */
  params: string;
  /** All that was stored, for the record to own. */
  inputs: StoredObject[];
}

const UPLOAD_TIMEOUT_MS = 60_000;
/** Removed then, unless a record has taken them over. */
const ORPHANED_MS = 15 * 60_000;
const EXTENSIONS: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

/** Throws ApiError, or ClientDisconnectedError where the client leaves before all is stored. */
export async function storeJob(services: MediaServices, place: JobPlace): Promise<SubmittedJob> {
  const files = listFiles(place.order);
  const names = files.map((file, index) => `${index}.${EXTENSIONS[file.contentType] ?? 'bin'}`);
  const objects = files.length === 0 ? [] : await store(services, place, { files, names });
  const job = buildJob(place.order, objects, files);
  const params = JSON.stringify(job);
  if (Buffer.byteLength(params) <= MAX_PARAMS_BYTES) return { params, inputs: objects };

  const { spool } = services.storage;
  const file = await spool.hold(asSource(params), { maxBytes: Buffer.byteLength(params) }).catch((error) => {
    throw error instanceof UploadError ? refuseUploads() : error;
  });
  try {
    const parameters = { ...file, contentType: 'application/json', fileName: 'job.json' };
    const [object] = await store(services, place, { files: [parameters], names: ['job.json'] });
    const stored: StoredJob = { v: 1, kind: 'stored', object: object! };
    return { params: JSON.stringify(stored), inputs: [...objects, object!] };
  } finally {
    await file.remove();
  }
}

async function* asSource(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function store(
  { storage, redis }: MediaServices,
  { namespace, id, state }: JobPlace,
  { files, names }: { files: readonly UploadedFile[]; names: readonly string[] },
): Promise<StoredObject[]> {
  const { objects } = await storeFiles(
    { ...storage, redis },
    {
      namespace,
      credential: null,
      files: files.map((file, index) => ({
        file,
        key: inputKey(namespace, id, names[index]!),
        contentType: file.contentType,
      })),
      removeInMs: ORPHANED_MS,
      deadlineMs: UPLOAD_TIMEOUT_MS,
      signal: state.exchange.signal,
    },
  ).catch((error) => {
    state.exchange.check();
    throw error instanceof UploadError ? new ApiError(error.code, error.message) : error;
  });
  return objects;
}

function buildJob(order: MediaOrder, objects: readonly StoredObject[], files: readonly UploadedFile[]): Job {
  const inputs = files.map(({ contentType, fileName, bytes }, index) => ({
    object: objects[index]!,
    contentType,
    fileName,
    bytes,
  }));
  const base = { v: 1, credential: order.credential, inputs } as const;
  return order.kind === 'image'
    ? { ...base, kind: 'image', parameters: order.parameters }
    : { ...base, kind: 'video', parameters: order.parameters };
}
