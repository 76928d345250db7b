/** Fetches the images that a request names by URL, and puts them into it as data: URLs. */
import { type Changes, replaceValues } from '../engine/request-body.ts';
import { ApiError } from '../error-response.ts';
import type { Exchange } from '../exchange.ts';
import type { EgressAgent } from './agent.ts';
import { Allowance } from './allowance.ts';
import { EgressError } from './egress-error.ts';
import { sniffImageType } from './image-type.ts';

export interface ImageReference {
  /** Of the URL in the body. */
  path: (string | number)[];
  url: string;
}

export interface ImageInliningOptions {
  agent: EgressAgent;
  exchange: Pick<Exchange, 'signal' | 'check'>;
  /** Of the body with all images in it. */
  mostBytes: number;
}

export const MOST_IMAGES = 10;
export const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;
/** From the look-up of the name to the last byte. */
export const IMAGE_DEADLINE_MS = 5_000;

const MIB = 1024 * 1024;
const BUSY_RETRY_SECONDS = 5;
/** Quotes, media type and padding of a data: URL, at most. */
const DATA_URL_BYTES = 32;

/** The payload with the images in it. Throws ApiError; ClientGone when the client leaves. */
export async function inlineImages(
  { payload, images }: { payload: Buffer; images: readonly ImageReference[] },
  options: ImageInliningOptions,
): Promise<Buffer> {
  const { exchange, mostBytes } = options;
  if (images.length > MOST_IMAGES) throw refuse(images[MOST_IMAGES]!, `is one of more than ${MOST_IMAGES}`);
  const room = mostBytes - payload.length - images.length * DATA_URL_BYTES;
  const shared = new Allowance(Math.max(0, Math.floor((room / 4) * 3)));
  const failed = new AbortController();
  const signal = AbortSignal.any([exchange.signal, failed.signal]);
  try {
    const fetched = images.map((image) => fetchImage(image, { ...options, shared, signal }));
    return insert(payload, images, await Promise.all(fetched));
  } catch (error) {
    exchange.check();
    throw error;
  } finally {
    failed.abort();
  }
}

/** A data: URL. */
async function fetchImage(
  image: ImageReference,
  { agent, mostBytes, shared, signal }: ImageInliningOptions & { shared: Allowance; signal: AbortSignal },
): Promise<string> {
  const answer = await agent
    .request({
      url: image.url,
      method: 'GET',
      headers: { accept: 'image/png, image/jpeg, image/webp, image/gif' },
      deadlineMs: IMAGE_DEADLINE_MS,
      allowance: new Allowance(LARGEST_IMAGE_BYTES, shared),
      signal,
    })
    .catch((error) => {
      throw error instanceof EgressError ? describeFailure(image, error) : error;
    });
  const { status, body, isTruncated } = answer;
  if (status >= 300 && status < 400) throw refuse(image, 'answers with a redirect, which is not followed');
  if (status !== 200) throw refuse(image, `answers with status ${status}`);
  if (isTruncated)
    throw refuse(
      image,
      `holds more than ${LARGEST_IMAGE_BYTES / MIB} MiB, or takes the whole request over its limit of ${mostBytes} bytes`,
    );
  const type = sniffImageType(body);
  if (!type) throw refuse(image, 'leads to no PNG, JPEG, WebP or GIF image');
  return `data:${type};base64,${body.toString('base64')}`;
}

function describeFailure(image: ImageReference, error: EgressError): ApiError {
  if (error.kind !== 'busy') return refuse(image, error.message);
  return new ApiError('temporarily_unavailable', 'Too many images are being fetched at the moment.', {
    retryAfter: BUSY_RETRY_SECONDS,
  });
}

function refuse({ path }: ImageReference, why: string): ApiError {
  const param = formatPath(path);
  const remedy = 'Send the image itself, as a data: URL such as "data:image/png;base64,…".';
  return new ApiError('invalid_request_error', `\`${param}\` ${why}. ${remedy}`, { param });
}

/** As `messages[0].content[1].image_url.url`. */
export const formatPath = (path: ImageReference['path']): string =>
  path
    .map((name) => (typeof name === 'number' ? `[${name}]` : `.${name}`))
    .join('')
    .slice(1);

function insert(payload: Buffer, images: readonly ImageReference[], urls: string[]): Buffer {
  const changes: ChangeTree = new Map();
  for (const [index, { path }] of images.entries()) {
    let branch = changes;
    for (const name of path.slice(0, -1)) {
      if (!branch.has(name)) branch.set(name, new Map());
      branch = branch.get(name) as ChangeTree;
    }
    branch.set(path.at(-1)!, `"${urls[index]}"`);
  }
  return Buffer.from(replaceValues(payload.toString(), changes));
}

type ChangeTree = Map<string | number, string | ChangeTree> & Changes;
