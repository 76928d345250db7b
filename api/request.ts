/** Asynchronous requests: states, codes, ids and shapes (docs/api.md, "States", "Request"). */
import { createHash, randomBytes } from 'node:crypto';
import type { BatchEventType } from './batch.ts';

export const REQUEST_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'canceled'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export const MODALITIES = ['image', 'video'] as const;
export type Modality = (typeof MODALITIES)[number];

/** The same states in a Video object (docs/api.md, "States"). */
export const VIDEO_STATUS = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  canceled: 'canceled',
} as const satisfies Record<RequestStatus, string>;
export type VideoStatus = (typeof VIDEO_STATUS)[RequestStatus];

/** Values of a failed request's `error_code`. */
export const FAILURE_CODES = {
  vram_exceeded: 'The engine ran out of GPU memory.',
  model_timeout: 'The job ran longer than allowed.',
  worker_lost: 'The replica that ran the job was lost, and the second attempt too.',
  storage_upload_failed: 'The result could not be written to the output bucket.',
  upstream_error: 'The engine failed.',
  invalid_input: 'The engine rejected the input.',
  expired: 'The request waited in the queue longer than allowed.',
} as const;
export type FailureCode = keyof typeof FAILURE_CODES;

/** What webhook endpoints are sent, by the status of a request that ended. */
export const EVENT_OF_STATUS = {
  succeeded: 'request.completed',
  failed: 'request.failed',
  canceled: 'request.canceled',
} as const satisfies Partial<Record<RequestStatus, string>>;
/** A budget has spent one of its percentages; only for endpoints that list it. */
export const BUDGET_WARNING = 'budget.warning';
export type RequestEventType = (typeof EVENT_OF_STATUS)[keyof typeof EVENT_OF_STATUS];
export type EventType = RequestEventType | BatchEventType | typeof BUDGET_WARNING;

export const DEFAULT_LIST_LIMIT = 50;
export const MAX_LIST_LIMIT = 200;

/** Longest message of a failed request. */
export const MAX_MESSAGE_LENGTH = 2000;

/** Longer parameters are stored in the bucket instead of Redis. */
export const MAX_PARAMS_BYTES = 4096;

export const REQUEST_ID = /^req_[0-9a-f]{32}$/;

/** A new id; its first 8 digits are the workspace's (`workspacePrefix`). */
export const generateRequestId = (workspacePrefix: string): string =>
  `req_${workspacePrefix}${randomBytes(12).toString('hex')}`;

/** The scope of an `Idempotency-Key` (docs/api.md, "Limits"); the header itself is not stored. */
export function digestIdempotencyKey(scope: {
  /** `hashApiKey` of the API key. */
  sha256: string;
  deployment: string;
  modality: Modality;
  header: string;
}): string {
  const header = createHash('sha256').update(scope.header).digest('hex');
  return createHash('sha256')
    .update([scope.sha256, scope.deployment, scope.modality, header].join('\n'))
    .digest('hex');
}

/** An object in a bucket; `credential` is the StorageCredential's name, null = managed storage. */
export interface StoredObject {
  credential: string | null;
  key: string;
}

/** Location of a successful request's files. */
export interface RequestOutput {
  bucket: string;
  /** One per file, in the order of the results. */
  keys: string[];
  /** Name of the StorageCredential; null = managed storage. */
  credential: string | null;
  /** `storage_provider` of a request; null = managed storage. */
  provider: string | null;
  /** How long after `completedAt` the files are kept; null = forever. */
  retentionMs: number | null;
}

/** What is known about a request; times in Unix milliseconds by Redis' clock. */
export interface RequestRecord {
  id: string;
  deployment: string;
  registrationId: number;
  modality: Modality;
  status: RequestStatus;
  /** Model id at submission. */
  model: string;
  /** Size of a video; '' for other requests. */
  size: string;
  seconds: string;
  /** 0–99. */
  progress: number;
  queuedAt: number;
  startedAt: number | null;
  completedAt: number | null;
  output: RequestOutput | null;
  errorCode: FailureCode | null;
  errorMessage: string | null;
}
