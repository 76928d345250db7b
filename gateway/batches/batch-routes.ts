/** /v1/files and /v1/batches (docs/batches.md): the same beside an engine and in the front. */
import type { BatchList, FileDeletion, FileList } from '../../api/api-objects.ts';
import {
  BATCH_ID,
  type BatchError,
  DAY_MS,
  FILE_ID,
  FILE_KEPT_MS,
  generateBatchId,
  generateFileId,
  HOUR_MS,
  listBatchPaths,
  MAX_WINDOW_MS,
  MIN_WINDOW_MS,
} from '../../api/batch.ts';
import { workKeys } from '../../api/redis-keys.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { deleteFile, type FileRecord, readFiles } from '../../redis/batches/batch-files.ts';
import {
  type BatchRecord,
  cancelBatch,
  createBatch,
  readBatches,
} from '../../redis/batches/batch-records.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { readJsonBody } from '../http/json-body.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { MediaServices } from '../jobs/services.ts';
import { readPage, readPageQuery } from './batch-list.ts';
import { describeBatch, describeFile } from './batch-objects.ts';
import { sendFile } from './file-content.ts';
import { checkExpiry, checkServed, uploadFile } from './file-upload.ts';

const REDIS_TIMEOUT_MS = 5_000;
const MAX_SHOWN_CHARACTERS = 100;
const MAX_PAIRS = 16;
const MAX_PAIR_NAME = 64;
const MAX_PAIR_VALUE = 512;

export const buildBatchHandlers = (services: MediaServices) => ({
  file_upload: async (state: GatewayState) => {
    sendJSON(state.exchange, describeFile(await uploadFile(services, state)));
  },
  file_list: async (state: GatewayState) => {
    const { namespace, name } = services.config(state);
    const { redis } = services;
    const index = workKeys(namespace).files(name);
    const read = (ids: readonly string[]) => readFiles(redis, namespace, ids);
    const query = readPageQuery(state.exchange.req.url!, FILE_ID);
    sendJSON(
      state.exchange,
      (await readPage({ redis, index, read }, query, describeFile)) satisfies FileList,
    );
  },
  file: async (state: GatewayState) => {
    sendJSON(state.exchange, describeFile(await findFile(services, state, state.parameter)));
  },
  file_content: async (state: GatewayState) => {
    await sendFile(services, state, await findFile(services, state, state.parameter));
  },
  file_delete: async (state: GatewayState) => {
    const { id } = await findFile(services, state, state.parameter);
    const { namespace } = services.config(state);
    const verdict = await repeat(() => deleteFile(services.redis, namespace, id));
    if (verdict === 'in_use')
      throw new ApiError(
        'file_in_use',
        `The file ${id} is the input of a batch: cancel it, or wait for its end.`,
      );
    sendJSON(state.exchange, { id, object: 'file', deleted: true } satisfies FileDeletion);
  },
  batch_create: (state: GatewayState) => create(services, state),
  batch_list: async (state: GatewayState) => {
    const { namespace, name, modelId } = services.config(state);
    const { redis } = services;
    const index = workKeys(namespace).batches(name);
    const read = (ids: readonly string[]) => readBatches(redis, namespace, ids);
    const query = readPageQuery(state.exchange.req.url!, BATCH_ID);
    const show = (batch: BatchRecord) => describeBatch(batch, modelId);
    sendJSON(state.exchange, (await readPage({ redis, index, read }, query, show)) satisfies BatchList);
  },
  batch: async (state: GatewayState) => {
    const { modelId } = services.config(state);
    sendJSON(state.exchange, describeBatch(await findBatch(services, state), modelId));
  },
  batch_cancel: async (state: GatewayState) => {
    const { id, status } = await findBatch(services, state);
    const { namespace, modelId } = services.config(state);
    const verdict = await repeat(() => cancelBatch(services.redis, namespace, id));
    if (verdict !== 'cancelling')
      throw new ApiError('batch_not_cancellable', `The batch ${id} has ended already (${status}).`);
    sendJSON(state.exchange, describeBatch(await findBatch(services, state), modelId));
  },
});

/** The functions are safe to repeat. */
const repeat = <T>(call: () => Promise<T>): Promise<T> =>
  retryWhileRedisDown(call, AbortSignal.timeout(REDIS_TIMEOUT_MS));

/** Only this deployment's: another's is unknown here, and so is another workspace's. */
async function findFile(services: MediaServices, state: GatewayState, id: string): Promise<FileRecord> {
  const { namespace, name } = services.config(state);
  const [file] = FILE_ID.test(id) ? await readFiles(services.redis, namespace, [id]) : [];
  if (file?.deployment === name) return file;
  throw refuse('file', id, name);
}

async function findBatch(services: MediaServices, state: GatewayState): Promise<BatchRecord> {
  const { namespace, name } = services.config(state);
  const id = state.parameter;
  const [batch] = BATCH_ID.test(id) ? await readBatches(services.redis, namespace, [id]) : [];
  if (batch?.deployment === name) return batch;
  throw refuse('batch', id, name);
}

const refuse = (what: string, id: string, deployment: string): ApiError =>
  new ApiError(
    'not_found',
    `There is no ${what} ${id.slice(0, MAX_SHOWN_CHARACTERS)} of the deployment ${deployment}, or it has expired.`,
  );

async function create(services: MediaServices, state: GatewayState): Promise<void> {
  const config = services.config(state);
  checkServed(config);
  const body = await readJsonBody(state, {
    limits: config.limits,
    interpret: ({ value }) => readCreation(value),
  });
  const { namespace, name: deployment, modelId } = config;
  const paths = listBatchPaths(config);
  if (!paths.includes(body.endpoint))
    throw refuseParameter('invalid_value', 'endpoint', `\`endpoint\` must be one of ${paths.join(', ')}.`);
  const file = await findFile(services, state, body.file);
  if (file.kind !== 'input')
    throw refuseParameter('invalid_value', 'input_file_id', '`input_file_id` must be an uploaded file.');
  const prefix = services.storage.requestPrefix(namespace);
  const id = generateBatchId(prefix);
  const batch = {
    ...{ namespace, deployment, id, file: file.id },
    outputFile: generateFileId(prefix),
    errorFile: generateFileId(prefix),
    endpoint: body.endpoint,
    errors: findErrors(file, body.endpoint),
    window: body.window,
    windowMs: body.windowMs,
    keepMs: body.keepMs,
    sha256: state.keyHash,
    keyName: state.keyName ?? '',
    metadata: body.metadata,
  };
  const { verdict, reason } = await repeat(() => createBatch(services.redis, batch));
  if (verdict === 'unknown_file') throw refuse('file', file.id, deployment);
  if (verdict === 'full')
    throw new ApiError('queue_full', `The deployment ${deployment} has as many open batches as it can.`);
  if (verdict === 'refused')
    throw refuseAsUnavailable('queueRefused', `Batches cannot be kept here: ${reason}`);
  if (verdict === 'gone')
    throw refuseAsUnavailable('deleting', `The deployment ${deployment} is being deleted.`);
  const [record] = await readBatches(services.redis, namespace, [id]);
  if (!record) throw refuseAsUnavailable('database', 'The batch was not kept: create it again.');
  sendJSON(state.exchange, describeBatch(record, modelId));
}

function findErrors({ errors, endpoint }: FileRecord, asked: string): BatchError[] {
  if (errors.length > 0 || endpoint === asked) return errors;
  const message = `The lines of the file ask for ${endpoint}, and the batch for ${asked}.`;
  return [{ code: 'mismatched_url', message, param: 'url', line: null }];
}

interface Creation {
  file: string;
  endpoint: string;
  window: string;
  windowMs: number;
  keepMs: number;
  metadata: string;
}

function readCreation(value: JSONObject): Creation {
  const { input_file_id: file, endpoint, completion_window: window } = value;
  if (typeof file !== 'string') throw requireParameter('input_file_id', 'the id of an uploaded file');
  if (typeof endpoint !== 'string') throw requireParameter('endpoint', 'a path');
  if (typeof window !== 'string') throw requireParameter('completion_window', 'a duration such as "24h"');
  const expiry = value.output_expires_after ?? null;
  if (expiry !== null && !isObject(expiry))
    throw refuseParameter(
      'invalid_type',
      'output_expires_after',
      '`output_expires_after` must be an object.',
    );
  return {
    file,
    endpoint,
    window,
    windowMs: readWindow(window),
    keepMs: expiry
      ? checkExpiry('output_expires_after', { anchor: expiry.anchor, seconds: expiry.seconds })
      : FILE_KEPT_MS,
    metadata: readMetadata(value.metadata ?? null),
  };
}

function readWindow(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,2})(h|d)$/.exec(text) ?? [];
  const ms = Number(count) * (unit === 'd' ? DAY_MS : HOUR_MS);
  if (ms >= MIN_WINDOW_MS && ms <= MAX_WINDOW_MS) return ms;
  throw refuseParameter(
    'invalid_value',
    'completion_window',
    '`completion_window` must be a whole number of hours or days from "1h" to "7d", such as "24h".',
  );
}

function readMetadata(value: unknown): string {
  if (value === null) return '';
  const pairs = isObject(value) ? Object.entries(value) : [];
  const isGood =
    isObject(value) &&
    pairs.length <= MAX_PAIRS &&
    pairs.every(
      ([name, text]) =>
        name.length <= MAX_PAIR_NAME && typeof text === 'string' && text.length <= MAX_PAIR_VALUE,
    );
  const text = isGood ? JSON.stringify(value) : '';
  if (isGood && Buffer.byteLength(text) <= MAX_METADATA_BYTES) return text;
  throw refuseParameter(
    'invalid_value',
    'metadata',
    `\`metadata\` must be an object of at most ${MAX_PAIRS} strings of ${MAX_PAIR_VALUE} characters, with names of ${MAX_PAIR_NAME}.`,
  );
}

const MAX_METADATA_BYTES = 16_000;
