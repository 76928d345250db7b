/** Connections to the API server: credentials and TLS from a kubeconfig, connection pooling. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AgentOptions, RequestOptions as HttpsOptions } from 'node:https';
import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';

/** Credentials and files are read again after this, so that rotated tokens and certificates are taken up. */
const CREDENTIALS_MS = 30_000;
const IDLE_CONNECTION_MS = 60_000;

export interface KubeConfigSource {
  /** A kubeconfig file; without one: `KUBECONFIG`, `~/.kube/config`, or the pod's service account. */
  file?: string;
  context?: string;
}

/** Loads the configuration of a cluster; throws an error that explains why there is none. */
export function loadKubeConfig(source: KubeConfigSource = {}): KubeConfig {
  const config = new KubeConfig();
  if (source.file) config.loadFromFile(source.file);
  else config.loadFromDefault();
  if (source.context) config.setCurrentContext(source.context);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`the kubeconfig names no cluster for its context "${config.currentContext}"`);
  // What client-node falls back on where it finds nothing at all.
  if (!source.file && cluster.name === 'cluster' && cluster.server === 'http://localhost:8080')
    throw new Error(
      'no cluster: set KUBECONFIG, write ~/.kube/config, or run in a pod with a service account',
    );
  return config;
}

/** Why a watch on a silent connection is aborted: others must not be opened on that connection. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

export interface ConnectionRequest {
  method: Dispatcher.HttpMethod;
  /** Path with its query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** A watch stays open, so it has connections of its own and takes no place from the calls. */
  stream?: boolean;
}

interface Credentials {
  headers: Record<string, string>;
  /** Fingerprint of the TLS material: a new one makes new pools. */
  fingerprint: string;
  validUntil: number;
  calls: Dispatcher;
  streams: Dispatcher;
  /** Absent behind a SOCKS proxy, which has one pool for all. */
  openStreams?: (() => Dispatcher) | undefined;
}

type Pools = Pick<Credentials, 'calls' | 'streams' | 'openStreams'>;

export class Connection {
  readonly #config: KubeConfig;
  readonly #maxConnections: number;
  readonly #origin: string;
  readonly #prefix: string;
  #credentials: Credentials | undefined;
  #loading: Promise<Credentials> | undefined;

  constructor(config: KubeConfig, maxConnections: number) {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no cluster');
    const { origin, pathname } = new URL(cluster.server);
    this.#config = config;
    this.#maxConnections = maxConnections;
    this.#origin = origin;
    this.#prefix = pathname.replace(/\/$/, '');
  }

  /** Sends one request; the caller's signal is its only deadline. */
  async send({ stream, path, headers, ...request }: ConnectionRequest): Promise<Dispatcher.ResponseData> {
    const credentials = await this.#current();
    const { signal } = request;
    const pool = stream ? credentials.streams : credentials.calls;
    if (stream) signal.addEventListener('abort', () => this.#leaveSilent(signal, pool), { once: true });
    const answer = pool.request({
      ...request,
      origin: this.#origin,
      path: this.#prefix + path,
      headers: { ...headers, ...credentials.headers },
      signal: stream ? delayAbort(signal) : signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return settleByAbort(answer, signal);
  }

  /** Many watches share a connection: after a silent one, the next are opened on new connections. */
  #leaveSilent(signal: AbortSignal, pool: Dispatcher): void {
    const credentials = this.#credentials;
    if (!(signal.reason instanceof SilenceError) || credentials?.streams !== pool) return;
    if (!credentials.openStreams) return;
    credentials.streams = credentials.openStreams();
    // Requests on the old ones finish there.
    void pool.close().catch(() => {});
  }

  /** After a 401: the next request rereads the credentials. */
  expireCredentials(): void {
    if (this.#credentials) this.#credentials.validUntil = 0;
  }

  /** Closes every connection at once, including those in use. */
  async close(): Promise<void> {
    await this.#loading?.catch(() => {});
    const credentials = this.#credentials;
    this.#credentials = undefined;
    if (credentials) await Promise.all([credentials.calls.destroy(), credentials.streams.destroy()]);
  }

  #current(): Promise<Credentials> {
    if (this.#credentials && performance.now() < this.#credentials.validUntil)
      return Promise.resolve(this.#credentials);
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<Credentials> {
    const tls: HttpsOptions & { headers?: Record<string, string> } = {};
    await this.#config.applyToHTTPSOptions(tls);
    const headers = Object.fromEntries(
      Object.entries(tls.headers ?? {}).map(([name, value]) => [name, String(value).trim()]),
    );
    // client-node holds on to a file's token for a minute, also when the API server has refused it.
    const tokenFile = this.#config.getCurrentUser()?.authProvider?.config?.tokenFile;
    if (tokenFile) headers.Authorization = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
    if (tls.auth) headers.Authorization = `Basic ${Buffer.from(tls.auth).toString('base64')}`;

    const fingerprint = fingerprintOf(tls);
    const previous = this.#credentials;
    const same = previous?.fingerprint === fingerprint;
    const pools = same ? previous : await this.#openPools(tls);
    this.#credentials = {
      headers,
      fingerprint,
      validUntil: performance.now() + CREDENTIALS_MS,
      calls: pools.calls,
      streams: pools.streams,
      openStreams: pools.openStreams,
    };
    // Requests on the old pools finish there.
    if (previous && !same)
      void Promise.all([previous.calls.close(), previous.streams.close()]).catch(() => {});
    return this.#credentials;
  }

  async #openPools(tls: HttpsOptions): Promise<Pools> {
    const options = this.#config.createDispatcherOptions(
      this.#config.getCurrentCluster(),
      tls as AgentOptions,
    );
    if (options.type === 'socks') {
      const context = new RequestContext(this.#origin, HttpMethod.GET);
      await this.#config.applySecurityAuthentication(context);
      const proxied = context.getDispatcher()!;
      return { calls: proxied, streams: proxied };
    }
    const open = (connections: number | null, allowH2: boolean) => {
      const common = { connections, keepAliveTimeout: IDLE_CONNECTION_MS, allowH2 };
      if (options.type === 'proxy') {
        const { uri, requestTls } = options;
        return new ProxyAgent({ ...common, uri, requestTls });
      }
      return new Agent({ ...common, connect: options.type === 'agent' ? options.connect : {} });
    };
    // Up to 100 watches share a connection by HTTP/2: with hundreds of namespaces there are thousands of watches.
    const openStreams = () => open(null, true);
    return { calls: open(this.#maxConnections, false), streams: openStreams(), openStreams };
  }
}

/**
 * A request by HTTP/2 that is aborted in the turn of the event loop that sends it is never reset: its response becomes a stream that
 * nobody listens to, and that ends the process together with the connection.
 */
function delayAbort(signal: AbortSignal): AbortSignal {
  if (signal.aborted) return signal;
  const delayed = new AbortController();
  signal.addEventListener('abort', () => setImmediate(() => delayed.abort(signal.reason)), { once: true });
  return delayed.signal;
}

/** undici releases a request that waits for a connection only once that is established or has failed, 10 s later. */
function settleByAbort<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function fingerprintOf({ ca, cert, key, servername, rejectUnauthorized }: HttpsOptions): string {
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, servername, rejectUnauthorized]) hash.update(`${part ?? ''}\0`);
  return hash.digest('hex');
}
