/** Batches of requests and their files (docs/batches.md): ids, states, bounds. */
import { randomBytes } from 'node:crypto';
import type { ModelKind } from './engine-presets.ts';

export const BATCH_STATUSES = [
  'in_progress',
  'finalizing',
  'cancelling',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** What webhook endpoints are sent that ask for it. */
export const BATCH_EVENT_TYPES = [
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
] as const;
export type BatchEventType = (typeof BATCH_EVENT_TYPES)[number];

/** Kinds of deployment that run batches, and the paths that a line may ask for, where the engine serves them. */
export const BATCH_KINDS = ['LLM', 'Embedding', 'Rerank'] as const satisfies readonly ModelKind[];
export const BATCH_PATHS: Readonly<Record<(typeof BATCH_KINDS)[number], readonly string[]>> = {
  LLM: ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages'],
  Embedding: ['/v1/embeddings'],
  Rerank: ['/v1/rerank', '/v2/rerank', '/v1/score'],
};

/** `model` as far as it decides; empty: the deployment runs no batches. */
export const listBatchPaths = ({ kind, routes }: { kind: ModelKind; routes: readonly string[] }): string[] =>
  ((BATCH_PATHS as Partial<Record<ModelKind, readonly string[]>>)[kind] ?? []).filter((path) =>
    routes.includes(path),
  );

export const MAX_BATCH_LINES = 50_000;
/** A line is parsed as a whole. */
export const MAX_BATCH_LINE_BYTES = 1024 * 1024;
export const MAX_CUSTOM_ID_LENGTH = 512;
/** What a worker claims at once. */
export const CHUNK_LINES = 100;
export const CHUNK_BYTES = 1024 * 1024;

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
export const MIN_WINDOW_MS = HOUR_MS;
export const MAX_WINDOW_MS = 7 * DAY_MS;
/** How long files, and batches that have ended, are kept. */
export const FILE_KEPT_MS = 30 * DAY_MS;

/** Both as long as a request's id, with the same digits of the workspace. */
export const FILE_ID = /^file_[0-9a-f]{31}$/;
export const BATCH_ID = /^batch_[0-9a-f]{30}$/;

const generateId = (prefix: string, workspacePrefix: string, length: number): string =>
  `${prefix}${workspacePrefix}${randomBytes(16).toString('hex')}`.slice(0, length);

const ID_LENGTH = 36;
/** `workspacePrefix`: 8 digits. */
export const generateFileId = (workspacePrefix: string): string =>
  generateId('file_', workspacePrefix, ID_LENGTH);
export const generateBatchId = (workspacePrefix: string): string =>
  generateId('batch_', workspacePrefix, ID_LENGTH);

/** Why a file cannot be run; `line`: from 1 on. */
export interface BatchError {
  code: string;
  message: string;
  param: string | null;
  line: number | null;
}

/** Lines that are claimed together: `end` is exclusive. */
export interface BatchChunk {
  start: number;
  end: number;
  /** Number of the first line, from 1 on. */
  line: number;
  lines: number;
}
