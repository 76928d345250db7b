/** A media request as parsed by its route: validated, with defaults, without side effects so far. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RequestRecord } from '../../api/request.ts';
import type { ImageParameters, VideoParameters } from '../engine/job.ts';
import { MIN_VIDEO_FRAMES } from '../engine/job.ts';
import type { SpooledFile } from '../storage/spool.ts';

/** An uploaded image on disk; removed at the end of the request. */
export interface UploadedFile extends SpooledFile {
  /** By its bytes: image/png, image/jpeg or image/webp. */
  contentType: string;
  fileName: string;
}

interface RequestBase {
  webhookUrl: string | null;
  /** Name of the StorageCredential for results, including the deployment's default; null = managed. */
  credential: string | null;
  /** The header; null when absent or empty. */
  idempotencyKey: string | null;
  /** Fingerprint of the fields, if there is an idempotency key. */
  fingerprint: string | null;
  /** The id of the ended request that it repeats; absent: none. */
  retryOf?: string;
}

export interface ImageRequest extends RequestBase {
  kind: 'image';
  parameters: ImageParameters;
  images: UploadedFile[];
  mask: UploadedFile | null;
  responseFormat: 'url' | 'b64_json';
  isAsync: boolean;
  /** `stream: true`: a single event carries the response. */
  isStream: boolean;
}

export interface VideoRequest extends RequestBase {
  kind: 'video';
  parameters: VideoParameters;
  /** Length of the clip as shown in a Video object, such as `5` or `5.042`. */
  seconds: string;
  /** What the clip is charged for. */
  askedSeconds: number;
  references: UploadedFile[];
}

/** Its idempotency key matched an earlier request; its own files are removed. */
export interface IdempotentRepeat {
  kind: 'repeat';
  record: RequestRecord;
  estimatedSeconds: number;
}

export type MediaRequest = ImageRequest | VideoRequest;

/** The files that a request holds on disk. */
export const listFiles = (request: MediaRequest): UploadedFile[] =>
  request.kind === 'image'
    ? [...request.images, ...(request.mask ? [request.mask] : [])]
    : request.references;

/** Millionths. A video is charged for the requested length, but at least for the shortest clip. */
export function priceRequest(request: MediaRequest, { pricing }: Pick<GatewayConfig, 'pricing'>): number {
  if (request.kind === 'image') return (pricing.perImage ?? 0) * request.parameters.n;
  const seconds = Math.max(request.askedSeconds, MIN_VIDEO_FRAMES / request.parameters.fps);
  return Math.round((pricing.perVideoSecond ?? 0) * seconds);
}
