/** POST /v1/files: takes a file of a batch, checks all of its lines, and stores it. */
import { createReadStream } from 'node:fs';
import { FILE_KEPT_MS, generateFileId, HOUR_MS, listBatchPaths } from '../../api/batch.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { addFile, type FileRecord, readFiles } from '../../redis/batches/batch-files.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { ownerOf, parseBody, parseInTurns, parsingTurns, SMALL_BYTES } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { MediaServices } from '../jobs/services.ts';
import type { FormFields } from '../media/form-fields.ts';
import { type FormFile, removeFiles } from '../media/form-parts.ts';
import { readForm } from '../media/multipart.ts';
import { inputKey } from '../storage/object-keys.ts';
import { UploadError } from '../storage/upload-error.ts';
import { storeFiles } from '../storage/uploads.ts';
import { type FileScan, scanFile } from './file-scan.ts';

const FORM: FormFields = {
  texts: new Set(['purpose', 'expires_after[anchor]', 'expires_after[seconds]']),
  files: new Map([['file', 1]]),
};
const MAX_NAME_LENGTH = 200;
const DEFAULT_FILE_BYTES = 200_000_000;
const DEFAULT_UPLOAD_MS = 30 * 60_000;
/** Beside the file. */
const FORM_BYTES = 64 * 1024;
const FIELD_CHARACTERS = 1_000;
const STORE_TIMEOUT_MS = 10 * 60_000;
/** Removed then, unless a record owns it by then. */
const ORPHANED_MS = 30 * 60_000;
const REDIS_TIMEOUT_MS = 5_000;
const MAX_SECONDS = FILE_KEPT_MS / 1_000;
const MIN_SECONDS = HOUR_MS / 1_000;

/** Throws ApiError. */
export async function uploadFile(services: MediaServices, state: GatewayState): Promise<FileRecord> {
  const config = services.config(state);
  checkServed(config);
  // Before a byte is read: without managed storage there is no place for it.
  services.storage.requestPrefix(config.namespace);
  const form = await readForm(state, FORM, { limits: limitForm(config), spool: services.storage.spool });
  try {
    const keepMs = readExpiry(form.texts);
    checkPurpose(form.texts.get('purpose'));
    const [file] = form.files;
    if (!file) throw requireParameter('file', 'a JSONL file');
    return await keepFile(services, state, { file, keepMs });
  } finally {
    await removeFiles(form);
  }
}

/** Throws ApiError for a deployment that runs no batches. */
export function checkServed(config: GatewayConfig): void {
  if (config.adapter)
    throw new ApiError(
      'invalid_request_error',
      `The deployment ${config.name} is a LoRA adapter, which runs no batches: send the requests one by one.`,
    );
  if (listBatchPaths(config).length === 0)
    throw new ApiError(
      'invalid_request_error',
      `The engine of this deployment (${config.enginePreset}) serves no route that a batch can use.`,
    );
}

const limitForm = ({ limits }: GatewayConfig) => {
  const fileBytes = limits.batchFileBytes ?? DEFAULT_FILE_BYTES;
  return {
    fileBytes,
    multipartBodyBytes: fileBytes + FORM_BYTES,
    uploadTimeoutMs: limits.batchUploadTimeoutMs ?? DEFAULT_UPLOAD_MS,
    promptCharacters: FIELD_CHARACTERS,
  };
};

function checkPurpose(purpose: string | undefined): void {
  if (purpose === undefined) throw requireParameter('purpose', '"batch"');
  if (purpose !== 'batch')
    throw refuseParameter(
      'invalid_value',
      'purpose',
      '`purpose` must be "batch": files are kept for batches only.',
    );
}

function readExpiry(texts: ReadonlyMap<string, string>): number {
  const anchor = texts.get('expires_after[anchor]');
  const seconds = texts.get('expires_after[seconds]');
  if (anchor === undefined && seconds === undefined) return FILE_KEPT_MS;
  return checkExpiry('expires_after', { anchor, seconds: Number(seconds ?? Number.NaN) });
}

/** Milliseconds. Throws ApiError. */
export function checkExpiry(
  param: string,
  { anchor, seconds }: { anchor: unknown; seconds: unknown },
): number {
  if (anchor !== 'created_at')
    throw refuseParameter('invalid_value', `${param}.anchor`, `\`${param}.anchor\` must be "created_at".`);
  if (!Number.isInteger(seconds) || Number(seconds) < MIN_SECONDS || Number(seconds) > MAX_SECONDS)
    throw refuseParameter(
      'invalid_value',
      `${param}.seconds`,
      `\`${param}.seconds\` must be an integer from ${MIN_SECONDS} to ${MAX_SECONDS}.`,
    );
  return Number(seconds) * 1_000;
}

async function keepFile(
  services: MediaServices,
  state: GatewayState,
  { file: { file, fileName }, keepMs }: { file: FormFile; keepMs: number },
): Promise<FileRecord> {
  const { redis, storage } = services;
  const { namespace, name: deployment } = services.config(state);
  const scan = await scanUpload(services, state, file.path);
  const id = generateFileId(storage.requestPrefix(namespace));
  const key = inputKey(namespace, id, 'lines.jsonl');
  const { exchange } = state;
  const { objects } = await storeFiles(
    { ...storage, redis },
    {
      namespace,
      credential: null,
      files: [{ file, key, contentType: 'application/jsonl' }],
      removeInMs: ORPHANED_MS,
      deadlineMs: STORE_TIMEOUT_MS,
      signal: exchange.signal,
    },
  ).catch((error) => {
    exchange.check();
    throw error instanceof UploadError ? new ApiError(error.code, error.message) : error;
  });
  const verdict = await retryWhileRedisDown(
    () =>
      addFile(redis, {
        ...{ namespace, deployment, id, keepMs, ...scan },
        name: (fileName || 'batch.jsonl').slice(0, MAX_NAME_LENGTH),
        bytes: file.bytes,
        object: objects[0]!,
      }),
    AbortSignal.timeout(REDIS_TIMEOUT_MS),
  );
  if (verdict === 'full')
    throw new ApiError(
      'queue_full',
      `The deployment ${deployment} keeps as many files as it can: delete some.`,
    );
  if (verdict === 'gone')
    throw refuseAsUnavailable('deleting', `The deployment ${deployment} is being deleted.`);
  const [record] = await readFiles(redis, namespace, [id]);
  if (!record) throw refuseAsUnavailable('database', 'The file was not kept: send it again.');
  return record;
}

function scanUpload(services: MediaServices, state: GatewayState, path: string): Promise<FileScan> {
  const config = services.config(state);
  return scanFile(createReadStream(path), {
    modelId: config.modelId,
    paths: listBatchPaths(config),
    parse: (bytes, interpret) => {
      state.exchange.check();
      return bytes.length <= SMALL_BYTES
        ? interpret(parseBody(bytes))
        : parsingTurns.run(ownerOf(state), parseInTurns(state, bytes, interpret));
    },
  });
}
