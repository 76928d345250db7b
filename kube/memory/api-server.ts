/** The memory API over HTTP, compatible with Kubernetes' API server. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../../kit/http-server.ts';
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import { authorize, review } from './access.ts';
import { discover } from './discovery.ts';
import { evictPod } from './eviction.ts';
import type { MemoryApi, PatchType, WriteOptions } from './memory-api.ts';
import { mergePatch } from './patches.ts';
import {
  type Format,
  type ResourceRequest,
  readFormat,
  readObjectBody,
  readResourcePath,
} from './request.ts';
import { groupVersion } from './resource-type.ts';
import { readScale, writeScale } from './scale.ts';
import { type Predicate, parseFieldSelector, parseLabelSelector } from './selectors.ts';
import { badRequest, noSuchPath, StatusError, SUCCESS } from './status-error.ts';
import { buildTable, type Include, partialMetadata } from './table.ts';
import { serveWatch } from './watch.ts';

/** Writes a container's log. Throws StatusError. */
export type LogReader = (pod: KubeObject, query: URLSearchParams, res: ServerResponse) => void;

export interface ApiServerOptions {
  api: MemoryApi;
  /** Token of the one user, who may do everything; in the header, or as the first part of the path. */
  token: string;
  user: string;
  host: string;
  /** 0 = any that is free. */
  port: number;
  readLogs?: LogReader;
  onError?: (error: unknown) => void;
}

export interface ApiServer {
  url: string;
  port: number;
  close(): Promise<void>;
}

/** kubectl sends no token over plain HTTP, so its kubeconfig has it in the server's path. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const server = createServer((req, res) => {
    answer(options, req, res).catch((error: unknown) => {
      if (!(error instanceof StatusError)) options.onError?.(error);
      const known =
        error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error));
      if (res.headersSent) res.destroy();
      else send(res, known.code, known.toStatus());
    });
  });
  const port = await listen(server, options.port, options.host);
  return { url: `http://${options.host}:${port}`, port, close: () => closeServer(server, 0) };
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function answer(options: ApiServerOptions, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://localhost');
  const path = authorize(options.token, req, url.pathname);
  if (path === undefined) throw new StatusError(401, 'Unauthorized', 'Unauthorized');
  const found = req.method === 'GET' ? answerFixed(options, path) : undefined;
  const request = readResourcePath(options.api, path);
  if (found) send(res, 200, found);
  else if (req.method === 'POST' && /\/self(subjectreviews|subjectaccessreviews)$/.test(path))
    send(res, 201, await review(options.user, req, path));
  else if (!request) throw noSuchPath();
  else {
    const context: Context = { ...options, req, res, query: url.searchParams, request };
    if (req.method === 'GET') serveRead(context);
    else {
      const [status, object] = await write(context);
      sendWarnings(context, object);
      send(res, status, show(context, object));
    }
  }
}

const answerFixed = ({ api }: ApiServerOptions, path: string): object | undefined =>
  ['/healthz', '/readyz', '/livez'].includes(path) ? { status: 'ok' } : discover(api.types, path);

/** As the API server sends those of admission policies: kubectl prints them. */
function sendWarnings({ api, req, res, request: { key, subresource } }: Context, object: object): void {
  if (req.method === 'DELETE' || subresource !== undefined || !('metadata' in object)) return;
  for (const text of api.warn(api.type(key), object as KubeObject))
    res.appendHeader('warning', `299 - "${text.replaceAll(/["\\\\]/g, "'")}"`);
}

interface Context extends ApiServerOptions {
  req: IncomingMessage;
  res: ServerResponse;
  query: URLSearchParams;
  request: ResourceRequest;
}

function serveRead(context: Context): void {
  const { api, res, query, request, readLogs } = context;
  const { key, namespace, name, subresource } = request;
  if (['true', '1'].includes(query.get('watch') ?? '')) watch(context);
  else if (name === undefined) list(context);
  else {
    const object = api.get(key, { namespace, name });
    if (subresource === 'log' && readLogs) readLogs(object, query, res);
    else if (subresource === 'scale') send(res, 200, readScale(api, key, object));
    else if (subresource !== undefined && subresource !== 'status') throw noSuchPath();
    else send(res, 200, show(context, object));
  }
}

function selectorOf({ query, request: { namespace, name } }: Context): Predicate {
  const byLabel = parseLabelSelector(query.get('labelSelector') ?? '');
  const byField = parseFieldSelector(query.get('fieldSelector') ?? '');
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    byLabel(object) &&
    byField(object);
}

function list({ api, res, request, ...rest }: Context): void {
  const context: Context = { api, res, request, ...rest };
  const objects = api.list(request.key, request.namespace).filter(selectorOf(context));
  send(res, 200, showList(context, objects));
}

function showList(context: Context, objects: KubeObject[]): object {
  const { api, request, req } = context;
  const metadata = { resourceVersion: String(api.store.version) };
  const format = readFormat(req.headers.accept);
  if (format === 'table') return tableOf(context, objects, metadata);
  if (format === 'metadata') {
    const items = objects.map(partialMetadata);
    return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
  }
  const type = api.type(request.key);
  return { kind: `${type.kind}List`, apiVersion: groupVersion(type), metadata, items: objects };
}

const MAX_WATCH_SECONDS = 3_600;

function watch(context: Context): void {
  const { api, res, query, request } = context;
  serveWatch(api, res, {
    key: request.key,
    selects: selectorOf(context),
    resourceVersion: query.get('resourceVersion') ?? undefined,
    sendInitialEvents: query.get('sendInitialEvents') === 'true',
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    timeoutMs: Number(query.get('timeoutSeconds') || MAX_WATCH_SECONDS) * 1_000,
    format: (object) => show(context, object),
  });
}

function show(context: Context, object: object): object {
  const format: Format['kind'] = readFormat(context.req.headers.accept);
  if (format === 'object' || !('metadata' in object) || (object as KubeObject).kind === 'Status')
    return object;
  if (format === 'metadata') return partialMetadata(object as KubeObject);
  const { resourceVersion } = (object as KubeObject).metadata;
  return tableOf(context, [object as KubeObject], { resourceVersion });
}

function tableOf({ api, request, query }: Context, objects: readonly KubeObject[], metadata: object): object {
  const { columns } = api.type(request.key);
  const include = (query.get('includeObject') ?? 'Metadata') as Include;
  return buildTable(objects, { columns, include, metadata, now: api.now() });
}

const PATCH_TYPES: Readonly<Record<string, PatchType>> = {
  'application/apply-patch+yaml': 'apply',
  'application/apply-patch+json': 'apply',
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
  'application/strategic-merge-patch+json': 'strategic',
};

async function write(context: Context): Promise<[status: number, object: object]> {
  const { api, req, query, request } = context;
  const { key, namespace, name, subresource } = request;
  const body = await readObjectBody(req);
  const options: WriteOptions = {
    manager: query.get('fieldManager') ?? req.headers['user-agent']?.split('/')[0],
    subresource: subresource === 'status' ? subresource : undefined,
    dryRun: query.has('dryRun'),
    strict: query.get('fieldValidation') === 'Strict',
  };
  if (req.method === 'DELETE') return [200, remove(context, body)];
  if (req.method === 'POST' && name === undefined)
    return [201, api.create(key, place(body, { namespace, name }), options)];
  if (name === undefined) throw notAllowed();
  const at = { namespace, name };
  if (req.method === 'POST' && key === 'pods' && subresource === 'eviction')
    return [201, evictPod(api, at, body, { dryRun: options.dryRun === true })];
  if (subresource === 'scale') {
    const object = api.get(key, at);
    const scale = req.method === 'PATCH' ? mergePatch(readScale(api, key, object), body) : body;
    return [200, writeScale(api, { key, object, scale }, options)];
  }
  if (subresource !== undefined && subresource !== 'status') throw noSuchPath();
  if (req.method === 'PUT') return [200, api.update(key, place(body, at), options)];
  if (req.method !== 'PATCH') throw notAllowed();
  const type = PATCH_TYPES[req.headers['content-type']?.split(';')[0] ?? ''];
  if (!type)
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${Object.keys(PATCH_TYPES).join(', ')}`,
    );
  const isNew = type === 'apply' && !api.find(key, at);
  const force = query.get('force') === 'true';
  return [isNew ? 201 : 200, api.patch(key, at, body, { ...options, type, force })];
}

const notAllowed = () =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');

/** Must agree with the path, which need not be repeated. */
function place(body: unknown, at: { namespace: string | undefined; name: string | undefined }): KubeObject {
  if (!isObject(body)) throw badRequest('the body must be a JSON object');
  const metadata = (isObject(body.metadata) ? body.metadata : {}) as Partial<KubeObject['metadata']>;
  if (at.namespace && (metadata.namespace ?? at.namespace) !== at.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (at.name && (metadata.name ?? at.name) !== at.name)
    throw badRequest('the name of the object does not match the name on the URL');
  const named = {
    ...(at.namespace ? { namespace: at.namespace } : {}),
    ...(at.name ? { name: at.name } : {}),
  };
  return { ...body, metadata: { ...metadata, ...named } } as KubeObject;
}

function remove({ api, query, request, ...rest }: Context, body: unknown): object {
  const { key, namespace, name } = request;
  const given = (isObject(body) ? body : {}) as {
    preconditions?: { uid?: string; resourceVersion?: string };
    gracePeriodSeconds?: number;
    propagationPolicy?: string;
  };
  const grace = query.get('gracePeriodSeconds') ?? given.gracePeriodSeconds;
  const options = {
    ...given.preconditions,
    graceSeconds: grace === undefined || grace === null ? undefined : Number(grace),
    propagation: query.get('propagationPolicy') ?? given.propagationPolicy,
    dryRun: query.has('dryRun') || 'dryRun' in given,
  };
  if (name !== undefined) return api.delete(key, { namespace, name }, options) ?? SUCCESS;
  const context: Context = { api, query, request, ...rest };
  for (const { metadata } of api.list(key, namespace).filter(selectorOf(context)))
    api.delete(key, metadata, options);
  return SUCCESS;
}
