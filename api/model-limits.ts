/** The endpoint's timeouts and size limits (docs/api.md, "Limits"), each with its default. */
import { z } from 'zod';
import type { ModelKind } from './engine-presets.ts';
import {
  duration,
  MAX_RETENTION_DAYS,
  parseDuration,
  parseQuantity,
  quantity,
  quantityUpTo,
} from './quantity.ts';

export const modelLimits = z
  .object({
    requestTimeout: duration('Longest chat, completion or embedding request.').default('120s'),
    imageTimeout: duration('Budget of a synchronous image request.').default('30s'),
    imageJobTimeout: duration('Longest asynchronous image job.').default('30m'),
    videoTimeout: duration('Longest video job.').default('30m'),
    waitForSlot: duration(
      'Longest wait for an engine slot while all are in use; then 429. Absent: 0s for Image, 5s for other kinds.',
    ).optional(),
    streamKeepAlive: duration(
      'A stream without an event for so long gets comments until its first one, as often, and a status of 200 with them; at least 1s. 0s: none.',
    ).default('15s'),
    headersTimeout: duration('Longest wait for request headers.').default('15s'),
    bodyTimeout: duration('Longest wait for a JSON body.').default('60s'),
    uploadTimeout: duration('Longest wait for a multipart body.').default('5m'),
    queueTTL: duration(
      'Longest time in the queue; then the request fails with code expired.',
      MAX_RETENTION_DAYS,
    ).default('24h'),
    resultRetention: duration('How long results are kept in managed storage.', MAX_RETENTION_DAYS).default(
      '24h',
    ),
    recordRetention: duration('How long ended requests are remembered.', MAX_RETENTION_DAYS).default('7d'),
    // What a gateway with the chart's 1Gi of memory can hold for one caller.
    jsonBody: quantityUpTo('160Mi', 'Largest JSON body.').default('32Mi'),
    file: quantity('Largest uploaded file.').default('50Mi'),
    multipartBody: quantity('Largest multipart body.').default('64Mi'),
    batchFile: quantityUpTo('256Mi', 'Largest file of a batch.').default('200M'),
    batchUploadTimeout: duration('Longest wait for the file of a batch.').default('30m'),
    promptCharacters: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(32_000)
      .describe('Longest prompt of an image or video request.'),
    imagesPerRequest: z.int().min(1).max(100).default(10).describe('Largest n of an image request.'),
    idempotency: z
      .enum(['Replay', 'Strict'])
      .default('Replay')
      .describe(
        'What a repeated Idempotency-Key with other fields gets: Replay, the original request, with the fields named in a header; Strict, 409.',
      ),
    unsupported: z
      .enum(['Pass', 'Reject'])
      .default('Pass')
      .describe(
        'What a request with parameters gets that its engine is known to ignore (llama-cpp): Pass, the answer without them, with their names in a header; Reject, 400.',
      ),
    maxQueued: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe('Most queued requests of this deployment.'),
  })
  .prefault({})
  .describe('Times and sizes of the endpoint; changes apply without a restart.');

type LimitsSpec = z.infer<typeof modelLimits>;

/** The limits in milliseconds, bytes and counts. */
export interface ResolvedLimits {
  requestTimeoutMs: number;
  imageTimeoutMs: number;
  imageJobTimeoutMs: number;
  videoTimeoutMs: number;
  waitForSlotMs: number;
  streamKeepAliveMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  uploadTimeoutMs: number;
  queueTTLMs: number;
  resultRetentionMs: number;
  recordRetentionMs: number;
  jsonBodyBytes: number;
  fileBytes: number;
  multipartBodyBytes: number;
  /** Absent: of an older operator. */
  batchFileBytes?: number | undefined;
  batchUploadTimeoutMs?: number | undefined;
  promptCharacters: number;
  imagesPerRequest: number;
  maxQueued: number;
}

/** Images that find every replica full are refused at once (docs/api.md, "Limits"). */
const defaultSlotWait = (kind: ModelKind): string => (kind === 'Image' ? '0s' : '5s');

export function resolveLimits(spec: LimitsSpec, kind: ModelKind): ResolvedLimits {
  return {
    requestTimeoutMs: parseDuration(spec.requestTimeout),
    imageTimeoutMs: parseDuration(spec.imageTimeout),
    imageJobTimeoutMs: parseDuration(spec.imageJobTimeout),
    videoTimeoutMs: parseDuration(spec.videoTimeout),
    waitForSlotMs: parseDuration(spec.waitForSlot ?? defaultSlotWait(kind)),
    streamKeepAliveMs: parseDuration(spec.streamKeepAlive),
    headersTimeoutMs: parseDuration(spec.headersTimeout),
    bodyTimeoutMs: parseDuration(spec.bodyTimeout),
    uploadTimeoutMs: parseDuration(spec.uploadTimeout),
    queueTTLMs: parseDuration(spec.queueTTL),
    resultRetentionMs: parseDuration(spec.resultRetention),
    recordRetentionMs: parseDuration(spec.recordRetention),
    jsonBodyBytes: parseQuantity(spec.jsonBody),
    fileBytes: parseQuantity(spec.file),
    multipartBodyBytes: parseQuantity(spec.multipartBody),
    batchFileBytes: parseQuantity(spec.batchFile),
    batchUploadTimeoutMs: parseDuration(spec.batchUploadTimeout),
    promptCharacters: spec.promptCharacters,
    imagesPerRequest: spec.imagesPerRequest,
    maxQueued: spec.maxQueued,
  };
}
