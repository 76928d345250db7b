/** A media request as its route read it: everything checked, all defaults filled in, nothing done yet. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RequestRecord } from '../../api/request.ts';
import type { ImageParameters, VideoParameters } from '../engine/job.ts';
import { MIN_VIDEO_FRAMES } from '../engine/job.ts';
import type { SpooledFile } from '../storage/spool.ts';

/** An uploaded image on disk; it is removed at the end of the request. */
export interface UploadedFile extends SpooledFile {
  /** By its bytes: image/png, image/jpeg or image/webp. */
  contentType: string;
  fileName: string;
}

interface OrderBase {
  webhookUrl: string | null;
  /** Name of the StorageCredential that results go to, the deployment's default included; null = managed. */
  credential: string | null;
  /** The header; null when absent or empty. */
  idempotencyKey: string | null;
  /** Of the fields, where an idempotency key came with them. */
  fingerprint: string | null;
}

export interface ImageOrder extends OrderBase {
  kind: 'image';
  parameters: ImageParameters;
  images: UploadedFile[];
  mask: UploadedFile | null;
  responseFormat: 'url' | 'b64_json';
  isAsync: boolean;
  /** `stream: true`: one event stands for the whole answer. */
  isStream: boolean;
}

export interface VideoOrder extends OrderBase {
  kind: 'video';
  parameters: VideoParameters;
  /** Of the clip that is made, as a Video object shows it, such as `5` or `5.042`. */
  seconds: string;
  /** What the clip is paid for. */
  askedSeconds: number;
  references: UploadedFile[];
}

/** Its idempotency key named an earlier request; no file is left of this one. */
export interface IdempotentRepeat {
  kind: 'repeat';
  record: RequestRecord;
  estimatedSeconds: number;
}

export type MediaOrder = ImageOrder | VideoOrder;

/** The files that an order holds on disk. */
export const listFiles = (order: MediaOrder): UploadedFile[] =>
  order.kind === 'image' ? [...order.images, ...(order.mask ? [order.mask] : [])] : order.references;

/** Millionths. A video is as long as it was asked for, but not shorter than the shortest that is made. */
export function priceOrder(order: MediaOrder, { pricing }: Pick<GatewayConfig, 'pricing'>): number {
  if (order.kind === 'image') return (pricing.perImage ?? 0) * order.parameters.n;
  const seconds = Math.max(order.askedSeconds, MIN_VIDEO_FRAMES / order.parameters.fps);
  return Math.round((pricing.perVideoSecond ?? 0) * seconds);
}
