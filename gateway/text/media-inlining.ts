/** Fetches the images, sounds and videos that a request references by URL, and inlines them as data: URLs. */

import type { ErrorCode } from '../../api/errors.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { Allowance } from '../egress/allowance.ts';
import { fetchMedium, MEDIA_BOUNDS, type MediaFetch, refuseBusy } from '../egress/media-fetch.ts';
import type { MediaKind } from '../egress/media-type.ts';
import type { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { type Changes, replaceValues } from './request-body.ts';

export interface MediaReference {
  kind: MediaKind;
  /** Path of what is replaced in the body. */
  path: (string | number)[];
  url: string;
  /** The replacement: a data: URL if absent, or Anthropic's `source` object. */
  form?: 'source';
}

export interface MediaInliningOptions {
  agent: EgressAgent;
  exchange: Pick<Exchange, 'signal' | 'check'>;
  /** Limit of the body with all media inlined. */
  maxBytes: number;
  /** Reserves memory; false if there is none left. */
  reserve: (bytes: number) => boolean;
  /** Does work in a turn of the caller. */
  inTurn: <T>(work: () => T) => T | Promise<T>;
}

/** The most that names, quotes, media type and padding take, without the data. */
const WRAPPING_BYTES = 80;
/** A medium briefly exists both as bytes and in the payload. */
const COPIES = 2;

/** The payload with the media inlined. Throws ApiError; ClientDisconnectedError if the client disconnects. */
export async function inlineMedia(
  { payload, media }: { payload: Buffer; media: readonly MediaReference[] },
  options: MediaInliningOptions,
): Promise<Buffer> {
  const { exchange, maxBytes } = options;
  checkCounts(media);
  const budget = maxBytes - payload.length - media.length * WRAPPING_BYTES;
  let isRefused = false;
  const reserve = (bytes: number) => {
    isRefused ||= !options.reserve(bytes * COPIES);
    return !isRefused;
  };
  const shared = new Allowance(Math.max(0, Math.floor((budget / 4) * 3)), null, reserve);
  const failed = new AbortController();
  const signal = AbortSignal.any([exchange.signal, failed.signal]);
  try {
    const sharedLimit = `its limit of ${maxBytes} bytes`;
    const fetched = media.map((each) => encode(each, { agent: options.agent, shared, signal, sharedLimit }));
    const values = await Promise.all(fetched);
    return await options.inTurn(() => insert(payload, media, values));
  } catch (error) {
    exchange.check();
    throw isRefused ? refuseBusy() : error;
  } finally {
    failed.abort();
  }
}

function checkCounts(media: readonly MediaReference[]): void {
  const counts: Record<MediaKind, number> = { image: 0, audio: 0, video: 0 };
  for (const each of media) {
    const { count } = MEDIA_BOUNDS[each.kind];
    if (++counts[each.kind] > count)
      throw refuse(
        'array_above_max_length',
        each,
        `exceeds the limit of ${count} ${each.kind} URLs in a request`,
      );
  }
}

/** The JSON text that replaces it. */
async function encode(medium: MediaReference, options: MediaFetch): Promise<string> {
  const { kind, url } = medium;
  const refuseIt = (why: string) => refuse('invalid_value', medium, why);
  const { bytes, type } = await fetchMedium({ kind, url, refuse: refuseIt }, options);
  const data = bytes.toString('base64');
  return medium.form === undefined
    ? `"data:${type};base64,${data}"`
    : `{"type":"base64","media_type":"${type}","data":"${data}"}`;
}

const EXAMPLES: Record<MediaKind, string> = { image: 'image/png', audio: 'audio/wav', video: 'video/mp4' };

function refuse(code: ErrorCode, { kind, path, form }: MediaReference, why: string): ApiError {
  const param = formatPath(path);
  const remedy =
    form === undefined
      ? `Send the ${kind} itself, as a data: URL such as "data:${EXAMPLES[kind]};base64,…".`
      : `Send the ${kind} itself, as {"type": "base64", "media_type": "${EXAMPLES[kind]}", "data": "…"}.`;
  return refuseParameter(code, param, `\`${param}\` ${why}. ${remedy}`);
}

/** Such as `messages[0].content[1].image_url.url`. */
export const formatPath = (path: MediaReference['path']): string =>
  path
    .map((name) => (typeof name === 'number' ? `[${name}]` : `.${name}`))
    .join('')
    .slice(1);

function insert(payload: Buffer, media: readonly MediaReference[], values: string[]): Buffer {
  const changes: ChangeTree = new Map();
  for (const [index, { path }] of media.entries()) {
    let branch = changes;
    for (const name of path.slice(0, -1)) {
      if (!branch.has(name)) branch.set(name, new Map());
      branch = branch.get(name) as ChangeTree;
    }
    branch.set(path.at(-1)!, values[index]!);
  }
  return Buffer.from(replaceValues(payload.toString(), changes));
}

type ChangeTree = Map<string | number, string | ChangeTree> & Changes;
