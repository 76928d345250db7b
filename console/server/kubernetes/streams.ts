/** Streams of the API server, as the user: changes of a collection, and logs. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { VERSION } from '../../../api/names.ts';
import { connectHTTP1, HTTP1_ONLY } from '../../../kit/http1.ts';
import { joinAnswers } from '../../../kit/joined-answers.ts';
import { readText } from '../../../kube/bounded-text.ts';
import { readWatchEvents } from '../../../kube/watch-stream.ts';
import { KubernetesError } from './error.ts';
import { collectionPath, type ObjectPlace, objectPath, type Selection } from './paths.ts';

/** A watch needs its own connection; callers limit their number. */
const HEADERS_TIMEOUT_MS = 10_000;
const MAX_ERROR_BYTES = 64 * 1024;
const WATCH_SECONDS = 300;
/** Only the fact of a change matters: metadata keeps tenants' large objects out of memory. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

export interface LogOptions {
  container: string;
  tailLines: number;
  limitBytes: number;
  /** Reads the previous run's log, without following. */
  previous: boolean;
}

export class KubernetesStreams {
  readonly #url: string;
  readonly #agent: Dispatcher;

  constructor({ url, ca }: { url: string; ca: string | undefined }) {
    this.#url = url;
    this.#agent = new Agent({
      ...HTTP1_ONLY,
      connect: connectHTTP1({ ca }),
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: 0,
    }).compose(joinAnswers);
  }

  /** Yields once it has started, and then on each change, until the API server ends it. Throws KubernetesError. */
  async *watch(
    token: string,
    place: ObjectPlace,
    selection: Selection,
    signal: AbortSignal,
  ): AsyncGenerator<void> {
    const query = new URLSearchParams({
      ...selection,
      watch: 'true',
      // From any version on: the objects themselves are read by lists.
      resourceVersion: '0',
      timeoutSeconds: String(WATCH_SECONDS),
    });
    const path = `${collectionPath(place)}?${query}`;
    const body = await this.#open(token, path, METADATA_ONLY, signal);
    yield;
    for await (const _ of readWatchEvents(body, path)) yield;
  }

  /** Throws KubernetesError. */
  readLog(
    token: string,
    { namespace, pod }: { namespace: string; pod: string },
    { container, tailLines, limitBytes, previous }: LogOptions,
    signal: AbortSignal,
  ): Promise<Readable> {
    const query = new URLSearchParams({
      container,
      tailLines: String(tailLines),
      limitBytes: String(limitBytes),
      ...(previous ? { previous: 'true' } : { follow: 'true' }),
    });
    const path = `${objectPath({ plural: 'pods', namespace }, pod)}/log?${query}`;
    return this.#open(token, path, '*/*', signal);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #open(token: string, path: string, accept: string, signal: AbortSignal): Promise<Readable> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept,
      'user-agent': `berth-console/${VERSION}`,
    };
    const call = { origin: this.#url, path, method: 'GET', headers, signal } as const;
    const { statusCode, body } = await this.#agent.request(call).catch((error: Error) => {
      throw new KubernetesError(0, { message: error.message });
    });
    if (statusCode === 200) return body;
    const text = await readText(body, path, MAX_ERROR_BYTES).catch(() => '{}');
    throw new KubernetesError(statusCode, parseOrEmpty(text));
  }
}

function parseOrEmpty(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
