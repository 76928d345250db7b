/**
 * URLs in messages. An engine that fetched them could reach the cluster's whole network, so only data
 * within the request is forwarded: images, sounds and videos are fetched here, all else must be sent inline.
 */

import { MEDIA_KINDS } from '../egress/media-type.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { formatPath, type MediaReference } from './media-inlining.ts';

export interface MessageMedia {
  /** Length of inline media, which are not prompt text. */
  characters: number;
  /** To be fetched. */
  media: MediaReference[];
}

/** Reads the media of a body with messages; empty for others. Throws ApiError. */
export const readBodyMedia = ({ messages }: { messages?: unknown }): MessageMedia =>
  readMessageMedia(messages);

/** Checks all parts. Throws ApiError. */
export function readMessageMedia(messages: unknown): MessageMedia {
  const media: MessageMedia = { characters: 0, media: [] };
  if (!Array.isArray(messages)) return media;
  for (let index = 0; index < messages.length; index++) {
    const content: unknown = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let part = 0; part < content.length; part++)
      readPart(content[part], ['messages', index, 'content', part], media);
  }
  return media;
}

/** Any member that ends in `_url`, whatever the type of the part. Throws ApiError. */
export function readPart(part: unknown, place: MediaReference['path'], media: MessageMedia): void {
  if (typeof part !== 'object' || part === null) return;
  // A body may have a hundred thousand parts.
  for (const name in part) {
    if (!name.endsWith('_url')) continue;
    const value = (part as Record<string, unknown>)[name];
    const isObject = typeof value === 'object' && value !== null;
    const url: unknown = isObject ? (value as { url?: unknown }).url : value;
    if (typeof url !== 'string') continue;
    const path = isObject ? [...place, name, 'url'] : [...place, name];
    if (/^data:/i.test(url)) media.characters += url.length;
    else {
      const kind = MEDIA_KINDS.find((each) => name === `${each}_url`);
      if (!kind) throw refuse(formatPath(path));
      media.media.push({ kind, path, url });
    }
  }
}

const refuse = (param: string) =>
  refuseParameter(
    'invalid_value',
    param,
    `\`${param}\` must be a data: URL, such as "data:application/pdf;base64,…": only images, audio and video are fetched.`,
  );
