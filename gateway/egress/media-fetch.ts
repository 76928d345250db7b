/** Fetches an image, a sound or a video that a request references by URL. */

import type { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { EgressAgent } from './agent.ts';
import { Allowance } from './allowance.ts';
import { EgressError } from './egress-error.ts';
import { type MediaKind, sniffMediaType } from './media-type.ts';
import { requestFollowing } from './redirects.ts';

interface MediaBounds {
  count: number;
  /** Size of each one. */
  bytes: number;
  /** From the DNS lookup to the last byte, including redirects. */
  deadlineMs: number;
}

const MIB = 1024 * 1024;

/** What they may have together is the caller's to bound. */
export const MEDIA_BOUNDS: Record<MediaKind, MediaBounds> = {
  image: { count: 10, bytes: 50 * MIB, deadlineMs: 5_000 },
  audio: { count: 4, bytes: 50 * MIB, deadlineMs: 10_000 },
  video: { count: 2, bytes: 100 * MIB, deadlineMs: 20_000 },
};

export interface Medium {
  kind: MediaKind;
  url: string;
  /** The client's error, with why the medium cannot be used. */
  refuse: (why: string) => ApiError;
}

export interface MediaFetch {
  agent: Pick<EgressAgent, 'request'>;
  /** Bytes that all media of the request may have together. */
  shared: Allowance;
  signal: AbortSignal;
  /** Names the limit of `shared` in errors. */
  sharedLimit: string;
}

/** Throws ApiError; what aborted the signal is for the caller to say. */
export async function fetchMedium(
  { kind, url, refuse }: Medium,
  { agent, shared, signal, sharedLimit }: MediaFetch,
): Promise<{ bytes: Buffer; type: string }> {
  const { bytes: most, deadlineMs } = MEDIA_BOUNDS[kind];
  const { status, body, isTruncated } = await requestFollowing(agent, {
    url,
    method: 'GET',
    headers: { accept: `${kind}/*` },
    deadlineMs,
    allowance: () => new Allowance(most, shared),
    signal,
  }).catch((error) => {
    if (!(error instanceof EgressError)) throw error;
    throw error.kind === 'busy' ? refuseBusy() : refuse(error.message);
  });
  if (status !== 200) throw refuse(`returned status ${status}`);
  if (isTruncated)
    throw refuse(`is larger than ${most / MIB} MiB, or makes the whole request exceed ${sharedLimit}`);
  const type = sniffMediaType(body, kind);
  if (!type) throw refuse(`is not ${NOUNS[kind]} in a supported format`);
  return { bytes: body, type };
}

const NOUNS: Record<MediaKind, string> = { image: 'an image', audio: 'an audio file', video: 'a video' };

export const refuseBusy = () =>
  refuseAsUnavailable('downloads', 'Too many media files are being fetched at the moment.');
