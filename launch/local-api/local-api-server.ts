/**
 * The small part of Kubernetes' API that the console speaks, on loopback, for the objects of `make run`. The one user
 * shows a token and may do everything.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { refuseName, StatusError } from './api-status.ts';
import type { LocalOperator } from './local-operator.ts';
import { mergePatch } from './merge-patch.ts';
import type { ObjectStore } from './object-store.ts';
import { type Route, readRoute } from './request-routes.ts';
import { type LocalObject, RESOURCES } from './resources.ts';

export interface LocalAPIOptions {
  store: ObjectStore;
  operator: LocalOperator;
  namespaces: readonly string[];
  token: string;
  host: string;
  /** 0 = any that is free. */
  port: number;
}

const USER = 'make-run';
const MOST_BYTES = 1_048_576;
const PATCH_TYPE = 'application/merge-patch+json';

/** Listens; the caller closes it. */
export async function startLocalAPI(options: LocalAPIOptions): Promise<Server> {
  const server = createServer((req, res) => {
    answer(options, req).then(
      ({ status, body }) => send(res, status, body),
      (error: unknown) => sendError(res, error),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return server;
}

interface Answer {
  status: number;
  body: object;
}

async function answer(options: LocalAPIOptions, req: IncomingMessage): Promise<Answer> {
  const { pathname } = new URL(req.url ?? '/', 'http://localhost');
  const route = readRoute(pathname);
  if (route?.what === 'ready') return { status: 200, body: { status: 'ok' } };
  requireToken(req, options.token);
  if (!route) throw new StatusError(404, 'NotFound', 'the server could not find the requested resource');
  if (route.what === 'objects') return answerObjects(options, req, route);
  if (route.what === 'namespaces') return answerNamespaces(options, req, route.name);
  requireMethod(req, ['POST']);
  const review = (await readBody(req)) as { spec?: object };
  const status = route.what === 'user' ? { userInfo: { username: USER, groups: [] } } : { allowed: true };
  return { status: 201, body: { ...review, status } };
}

function answerNamespaces(
  { namespaces }: LocalAPIOptions,
  req: IncomingMessage,
  name: string | null,
): Answer {
  requireMethod(req, ['GET']);
  const describe = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  if (name === null)
    return {
      status: 200,
      body: { apiVersion: 'v1', kind: 'NamespaceList', metadata: {}, items: namespaces.map(describe) },
    };
  if (!namespaces.includes(name)) throw refuseName('namespaces', name);
  return { status: 200, body: describe(name) };
}

type ObjectsRoute = Extract<Route, { what: 'objects' }>;

async function answerObjects(
  options: LocalAPIOptions,
  req: IncomingMessage,
  route: ObjectsRoute,
): Promise<Answer> {
  const { store, operator } = options;
  const { plural, namespace, name } = route;
  const { apiVersion, kind, refusal } = RESOURCES[plural]!;
  requireMethod(req, name === null ? ['GET', 'POST'] : ['GET', 'PUT', 'PATCH', 'DELETE']);
  if (req.method === 'GET') {
    if (name !== null)
      return { status: 200, body: await operator.describe(plural, store.get(plural, namespace, name)) };
    const objects = store.list(plural, namespace);
    const items = await Promise.all(objects.map((object) => operator.describe(plural, object)));
    return {
      status: 200,
      body: { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: '' }, items },
    };
  }
  if (!options.namespaces.includes(namespace)) throw refuseName('namespaces', namespace);
  if (refusal !== null) throw new StatusError(405, 'MethodNotAllowed', refusal);
  if (req.method === 'DELETE') {
    const removed = store.remove(plural, namespace, name!);
    await operator.takeRemoved(plural, removed);
    return { status: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } };
  }
  return write(options, req, route);
}

async function write(
  { store, operator }: LocalAPIOptions,
  req: IncomingMessage,
  { plural, namespace, name }: ObjectsRoute,
): Promise<Answer> {
  const before = name === null ? undefined : store.get(plural, namespace, name);
  const body = await readBody(req);
  const isPatch = req.method === 'PATCH';
  if (isPatch && !req.headers['content-type']?.startsWith(PATCH_TYPE))
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of a patch was in an unknown format - accepted media types include: ${PATCH_TYPE}`,
    );
  const wanted = placeObject((isPatch ? mergePatch(before, body) : body) as LocalObject, {
    plural,
    namespace,
    name,
  });
  const object = before ? store.update(plural, wanted) : store.create(plural, wanted);
  await operator.takeWritten(plural, object, before);
  return { status: before ? 200 : 201, body: await operator.describe(plural, object) };
}

/** What the path says must not be contradicted, and need not be repeated. */
function placeObject(
  object: LocalObject,
  { plural, namespace, name }: Omit<ObjectsRoute, 'what'>,
): LocalObject {
  const { apiVersion, kind } = RESOURCES[plural]!;
  const refuse = (message: string) => new StatusError(400, 'BadRequest', message);
  if ((object.apiVersion ?? apiVersion) !== apiVersion || (object.kind ?? kind) !== kind)
    throw refuse(`the object provided is unrecognized: it must be a ${kind} of ${apiVersion}`);
  const metadata = { ...object.metadata };
  if ((metadata.namespace ?? namespace) !== namespace)
    throw refuse('the namespace of the provided object does not match the namespace sent on the request');
  if (name !== null && (metadata.name ?? name) !== name)
    throw refuse('the name of the object does not match the name on the URL');
  return { ...object, apiVersion, kind, metadata: { ...metadata, namespace, name: metadata.name ?? name! } };
}

function requireToken({ headers }: IncomingMessage, token: string): void {
  const given = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token)))
    throw new StatusError(401, 'Unauthorized', 'Unauthorized');
}

function requireMethod({ method }: IncomingMessage, methods: readonly string[]): void {
  if (!methods.includes(method ?? ''))
    throw new StatusError(
      405,
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
    );
}

async function readBody(req: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new StatusError(413, 'RequestEntityTooLarge', 'the body is too large');
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {}
  throw new StatusError(400, 'BadRequest', 'the body must be a JSON object');
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(res: ServerResponse, error: unknown): void {
  if (!(error instanceof StatusError)) console.error(error);
  const known =
    error instanceof StatusError ? error : new StatusError(500, 'InternalError', 'internal error');
  send(res, known.code, known.toStatus());
}
