/** Reads stored files by signed links, over the endpoint that gateways reach: inputs to disk, results to clients. */
import { get as httpGet, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { get as httpsGet } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type { StoredObject } from '../../api/request.ts';
import type { EgressAgentOptions } from '../egress/agent.ts';
import type { Spool, SpooledFile } from './spool.ts';
import { createGuardedAgents, createOwnAgents, type StoreAgents, UNSHARED } from './store-agents.ts';
import { UploadError } from './upload-error.ts';
import type { UrlSigner } from './url-signer.ts';

/** Why an input could not be read, in fixed words. */
export class DownloadError extends Error {
  /** It is permanently gone. */
  readonly isGone: boolean;

  constructor(isGone: boolean, cause?: unknown) {
    super(
      isGone
        ? 'An input file of the request no longer exists.'
        : 'An input file of the request could not be read.',
      {
        cause,
      },
    );
    this.isGone = isGone;
  }
}

export interface ObjectToHold {
  namespace: string;
  /** In managed storage, where all inputs are. */
  object: StoredObject;
  maxBytes: number;
  /** Deadline of all attempts together. */
  deadlineMs: number;
  signal?: AbortSignal;
}

const LINK_SECONDS = 300;
const IDLE_TIMEOUT_MS = 20_000;
const ATTEMPTS = 3;
const RETRY_DELAY_MS = 250;
const NOT_FOUND = 404;

/** Throws DownloadError, UploadError if the disk is full, ApiError of the URL signer, or the signal's reason. */
export async function holdObject(
  { urlSigner, spool }: { urlSigner: UrlSigner; spool: Spool },
  { namespace, object, maxBytes, deadlineMs, signal }: ObjectToHold,
): Promise<SpooledFile> {
  // A customer's host would have to be checked; inputs are never there.
  if (object.credential !== null) throw new DownloadError(true);
  const late = AbortSignal.timeout(deadlineMs);
  const end = signal ? AbortSignal.any([late, signal]) : late;
  const [url] = await urlSigner.signGets({
    namespace,
    credential: null,
    objects: [{ key: object.key }],
    expiresInSeconds: LINK_SECONDS,
    isInternal: true,
  });
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await holdOnce(spool, url!, { maxBytes, signal: end });
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof UploadError || (error instanceof DownloadError && error.isGone)) throw error;
      if (left === 1 || end.aborted) throw new DownloadError(false, error);
      await wait(RETRY_DELAY_MS * (ATTEMPTS - left + 1));
    }
  }
}

async function holdOnce(
  spool: Spool,
  url: string,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<SpooledFile> {
  const response = await openLink(url, { signal });
  const { statusCode, headers } = response;
  if (statusCode !== 200) {
    response.destroy();
    throw statusCode === NOT_FOUND
      ? new DownloadError(true)
      : new Error(`the store returned HTTP ${statusCode}`);
  }
  const file = await spool.hold(response, { maxBytes, signal });
  const length = Number(headers['content-length'] ?? file.bytes);
  if (length === file.bytes) return file;
  await file.remove();
  throw new Error('the store sent less than it announced');
}

interface OpenedLink {
  headers?: OutgoingHttpHeaders;
  /** A new connection by default. */
  agents?: StoreAgents;
  /** The longest time in which the store sends nothing. */
  idleMs?: number;
  signal: AbortSignal;
}

/** The head of the response, whatever its status. Rejects with the network's error, or the signal's reason. */
function openLink(
  url: string,
  { headers = {}, agents, idleMs = IDLE_TIMEOUT_MS, signal }: OpenedLink,
): Promise<IncomingMessage> {
  const isTls = url.startsWith('https:');
  const get = isTls ? httpsGet : httpGet;
  const agent = agents && (isTls ? agents.https : agents.http);
  return new Promise((resolve, reject) => {
    agents?.check(url);
    const request = get(url, { headers, agent, signal, timeout: idleMs }, resolve);
    request.once('timeout', () => request.destroy(new Error('no data in time'))).on('error', reject);
  });
}

/** Opens downloads by clients, of which none waits for another's slow reader. */
export class Downloader {
  readonly #own: StoreAgents;
  readonly #guarded: StoreAgents;

  /** `egress`: for hosts that tenants chose. */
  constructor({ egress }: { egress: EgressAgentOptions }) {
    this.#own = createOwnAgents(undefined, UNSHARED);
    this.#guarded = createGuardedAgents(egress, UNSHARED);
  }

  open(url: string, { isTenantHost, ...options }: { isTenantHost: boolean } & OpenedLink) {
    return openLink(url, { ...options, agents: isTenantHost ? this.#guarded : this.#own });
  }

  /** Closes idle connections. */
  close(): void {
    this.#own.close();
    this.#guarded.close();
  }
}
