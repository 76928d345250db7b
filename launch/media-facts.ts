/** Facts about image and video models in `.berth/endpoints.json`. */
import type { GatewayConfig } from '../api/gateway-config.ts';

export interface ListedMedia {
  /** Set for an image model. */
  sizes?: string[];
  /** Whether it takes images as input. */
  imageInput?: boolean;
  /** Set for a video model. */
  resolutions?: string[];
  /** Duration and frame rate if both are fixed, else null. */
  native?: { seconds: number; fps: number } | null;
}

export function describeMedia({ image, video }: Pick<GatewayConfig, 'image' | 'video'>): ListedMedia {
  if (image) return { sizes: image.sizes, imageInput: image.tasks.includes('img2img') };
  if (video) return { resolutions: video.resolutions, native: video.native ?? null };
  return {};
}
