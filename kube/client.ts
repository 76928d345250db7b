/** Calls to the API server: each with a deadline, readable errors and metrics. */
import type { Readable } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import { isNotFound, isUnauthorized, KubeApiError, parseApiError } from './api-error.ts';
import { MAX_ANSWER_BYTES, MAX_OBJECT_BYTES, readText } from './bounded-text.ts';
import {
  type ApplyOptions,
  type Call,
  type CallOptions,
  type Deadline,
  type DeleteOptions,
  describeCall,
  formatTarget,
  type ListOptions,
  type ListPage,
  type ObjectName,
  startDeadline,
  type WatchOptions,
} from './call.ts';
import { Connection } from './connection.ts';
import type { KubeObject } from './object.ts';
import { type LogOptions, readLogLines } from './pod-log.ts';
import { RESOURCES, type Resource } from './resource.ts';
import { readWatchEvents, type WatchEvent } from './watch-stream.ts';

export interface RequestSample {
  verb: string;
  resource: string;
  /** HTTP status, 0 if there was no response. */
  code: number;
  seconds: number;
}

export interface ClientOptions {
  config: KubeConfig;
  /** Sent as `User-Agent`; the API server's audit log shows it. */
  userAgent?: string;
  /** Deadline of a call in milliseconds (30,000). */
  timeoutMs?: number;
  /** Connections for calls (10); each open watch has one more. */
  maxConnections?: number;
  onRequest?: (sample: RequestSample) => void;
}

/** Without a fallback: an API server that cannot omit the contents must not send them. */
const acceptOf = ({ isListedByMetadata }: Resource, kind: string): string | undefined =>
  isListedByMetadata ? `application/json;as=${kind};g=meta.k8s.io;v=v1` : undefined;

export type KubeClient = ReturnType<typeof createKubeClient>;

/** A client of the cluster in `config`. Close it, or its connections keep the process alive. */
export function createKubeClient(options: ClientOptions) {
  const { config, userAgent = 'kube', timeoutMs = 30_000, maxConnections = 10, onRequest } = options;
  const connection = new Connection(config, maxConnections);
  const headersOf = ({ accept = 'application/json', contentType }: Call) => ({
    accept,
    'user-agent': userAgent,
    ...(contentType ? { 'content-type': contentType } : {}),
  });

  /** Sends a request and reads its response, both within the deadline. */
  async function send(request: Call): Promise<string> {
    const deadline = startDeadline(request.timeoutMs ?? timeoutMs, request.signal);
    const finish = startSample(request);
    let code = 0;
    try {
      const response = await connection.send({
        method: request.method,
        path: formatTarget(request),
        headers: headersOf(request),
        body: request.body === undefined ? undefined : JSON.stringify(request.body),
        signal: deadline.signal,
      });
      const hasMany = request.verb === 'list' && request.query?.limit !== 1;
      const most = hasMany ? MAX_ANSWER_BYTES : MAX_OBJECT_BYTES;
      const text = await readText(response.body, describeCall(request), most);
      code = response.statusCode;
      if (code >= 300) throw parseApiError(describeCall(request), code, text);
      return text;
    } catch (error) {
      throw explain(error, request, deadline);
    } finally {
      deadline.end();
      finish(code);
    }
  }

  /** What `read` makes of a response; the deadline covers the time to its first byte. */
  async function* stream<T>(
    request: Call,
    parent: AbortSignal | undefined,
    read: (body: Readable) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const deadline = startDeadline(timeoutMs, parent);
    const finish = startSample(request);
    let code = 0;
    try {
      const response = await connection.send({
        method: 'GET',
        path: formatTarget(request),
        headers: headersOf(request),
        signal: deadline.signal,
        stream: true,
      });
      code = response.statusCode;
      if (code >= 300) {
        const call = describeCall(request);
        throw parseApiError(call, code, await readText(response.body, call, MAX_ANSWER_BYTES));
      }
      deadline.stopClock();
      finish(code);
      yield* read(response.body);
    } catch (error) {
      if (!code || code >= 300) finish(code);
      throw explain(error, request, deadline);
    } finally {
      deadline.end();
    }
  }

  async function* watch<T extends KubeObject>(
    resource: Resource,
    { signal, namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const selection = { labelSelector, fieldSelector, resourceVersion, timeoutSeconds };
    const query = { ...selection, watch: true, allowWatchBookmarks: true };
    const accept = acceptOf(resource, 'PartialObjectMetadata');
    const request: Call = { verb: 'watch', resource, at: { namespace }, method: 'GET', query, accept };
    const { apiVersion, kind } = resource;
    const read = (body: Readable) => readWatchEvents<T>(body, describeCall(request));
    for await (const { type, object } of stream(request, signal, read))
      yield { type, object: accept ? { ...object, apiVersion, kind } : object };
  }

  function startSample({ verb, resource }: Call): (code: number) => void {
    const started = performance.now();
    return (code) =>
      onRequest?.({ verb, resource: resource.plural, code, seconds: (performance.now() - started) / 1000 });
  }

  function explain(error: unknown, request: Call, deadline: Deadline): Error {
    if (isUnauthorized(error)) connection.expireCredentials();
    return error instanceof KubeApiError ? error : deadline.explain(error, describeCall(request));
  }

  const read = async <T>(request: Call): Promise<T> => JSON.parse(await send(request)) as T;

  return {
    /** Reads one object; throws a `KubeApiError` (see `isNotFound`) if there is none. */
    get: <T extends KubeObject = KubeObject>(resource: Resource, at: ObjectName, call: CallOptions = {}) =>
      read<T>({ ...call, verb: 'get', resource, at, method: 'GET' }),

    /** Reads one object, or undefined if there is none. */
    find: <T extends KubeObject = KubeObject>(resource: Resource, at: ObjectName, call: CallOptions = {}) =>
      read<T>({ ...call, verb: 'get', resource, at, method: 'GET' }).catch((error) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),

    /** One page of a list; adds `apiVersion` and `kind` to items, which the API server omits. */
    async list<T extends KubeObject = KubeObject>(
      resource: Resource,
      list: ListOptions = {},
    ): Promise<ListPage<T>> {
      const { namespace, labelSelector, fieldSelector, limit, continue: next } = list;
      const page = await read<{ items?: T[] | null; metadata: ListPage<T>['metadata'] }>({
        ...list,
        verb: 'list',
        resource,
        at: { namespace },
        method: 'GET',
        accept: acceptOf(resource, 'PartialObjectMetadataList'),
        query: { labelSelector, fieldSelector, limit, continue: next },
      });
      const { apiVersion, kind } = resource;
      return {
        metadata: page.metadata,
        items: (page.items ?? []).map((item) => ({ ...item, apiVersion, kind })),
      };
    },

    /** Creates an object, or a subresource of the one that it names. */
    create: <T extends KubeObject>(
      resource: Resource,
      object: T,
      { subresource, ...call }: CallOptions & { subresource?: string } = {},
    ) =>
      read<T>({
        ...call,
        verb: 'create',
        resource,
        at: subresource ? { ...object.metadata, subresource } : { namespace: object.metadata.namespace },
        method: 'POST',
        contentType: 'application/json',
        body: object,
      }),

    /** Replaces an object; with its `resourceVersion`, only if nobody changed it since. `isStrict`: refuses unknown fields. */
    update: <T extends KubeObject>(
      resource: Resource,
      object: T,
      { isStrict, ...call }: CallOptions & { isStrict?: boolean } = {},
    ) =>
      read<T>({
        ...call,
        verb: 'update',
        resource,
        at: object.metadata,
        method: 'PUT',
        ...(isStrict && { query: { fieldValidation: 'Strict' } }),
        contentType: 'application/json',
        body: object,
      }),

    /** A JSON merge patch; with a `metadata.resourceVersion` it fails if someone changed the object since. */
    mergePatch: <T extends KubeObject = KubeObject>(
      resource: Resource,
      { at, patch, ...call }: CallOptions & { at: ObjectName; patch: object },
    ) =>
      read<T>({
        ...call,
        verb: 'patch',
        resource,
        at,
        method: 'PATCH',
        contentType: 'application/merge-patch+json',
        body: patch,
      }),

    /** Server-side apply of exactly the fields in `object`; unknown fields are refused. */
    apply: <T extends KubeObject>(
      resource: Resource,
      object: T,
      { fieldManager, force = false, subresource, ...call }: ApplyOptions,
    ) =>
      read<T>({
        ...call,
        verb: 'apply',
        resource,
        at: { namespace: object.metadata.namespace, name: object.metadata.name, subresource },
        method: 'PATCH',
        query: { fieldManager, force, fieldValidation: 'Strict' },
        contentType: 'application/apply-patch+yaml',
        body: object,
      }),

    async delete(resource: Resource, at: ObjectName, options: DeleteOptions = {}): Promise<void> {
      const { uid, graceSeconds: gracePeriodSeconds, propagation = 'Background', ...call } = options;
      const preconditions = uid ? { preconditions: { uid } } : {};
      await send({
        ...call,
        verb: 'delete',
        resource,
        at,
        method: 'DELETE',
        contentType: 'application/json',
        body: { propagationPolicy: propagation, gracePeriodSeconds, ...preconditions },
      });
    },

    /** The events of one watch, until the server or the signal ends it. */
    watch,

    /** The lines of a container's log. */
    readLog: (pod: ObjectName, { signal, ...query }: LogOptions): AsyncGenerator<string> => {
      const at = { ...pod, subresource: 'log' };
      const resource = RESOURCES.Pod;
      return stream({ verb: 'get', resource, at, method: 'GET', query, accept: '*/*' }, signal, readLogLines);
    },

    /** Closes every connection, open watches included. */
    close: () => connection.close(),
  };
}
