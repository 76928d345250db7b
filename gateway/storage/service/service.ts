/** The front's internal service: signs links for workspaces' gateways; for the operator it probes buckets and URLs, and queries model hubs. */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { ZodType } from 'zod';
import { operatorToken, storageToken } from '../../../api/identity.ts';
import {
  type CheckURLAnswer,
  INTERNAL_PATHS,
  type LookUpModelAnswer,
  type VerifyAnswer,
  WORKSPACE_HEADER,
} from '../../../api/internal-api.ts';
import type { PublishedCredential } from '../../../api/redis-keys.ts';
import { BodyTooLargeError, readBody } from '../../../kit/bounded-body.ts';
import { createHTTPServer } from '../../../kit/http-server.ts';
import type { EgressAgent } from '../../egress/agent.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { ApiError, JSON_TYPE, sendError } from '../../http/error-response.ts';
import { refuseFault } from '../../http/server.ts';
import { explainRedisOutage } from '../../http/unavailability.ts';
import { lookUpModel } from '../../hub/model-lookup.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Stores } from '../stores.ts';
import type { UrlSigner } from '../url-signer.ts';
import {
  checkUrlRequest,
  getUrlsRequest,
  lookUpModelRequest,
  putUrlsRequest,
  verifyRequest,
} from './request-schemas.ts';
import { verifyCredential } from './verification.ts';

export interface InternalServiceOptions {
  masterKey: string;
  urlSigner: UrlSigner;
  stores: Pick<Stores, 'openCredential'>;
  readCredential: (namespace: string, id: number) => Promise<PublishedCredential | null>;
  egress: Pick<EgressAgent, 'check' | 'request'>;
  log: Logger;
}

type Answer = (req: IncomingMessage) => Promise<unknown>;

/** Fits a hundred of the longest keys. */
const MAX_BODY_BYTES = 256 * 1024;
const BODY_TIMEOUT_MS = 10_000;

/** Not yet listening. */
export function createInternalServer(options: InternalServiceOptions): Server {
  const routes: Record<string, Answer> = {
    [INTERNAL_PATHS.signPuts]: (req) => signPuts(options, req),
    [INTERNAL_PATHS.signGets]: (req) => signGets(options, req),
    [INTERNAL_PATHS.verify]: (req) => verify(options, req),
    [INTERNAL_PATHS.checkURL]: (req) => checkURL(options, req),
    [INTERNAL_PATHS.lookUpModel]: (req) => lookUp(options, req),
  };
  const settings = {
    requestTimeout: BODY_TIMEOUT_MS,
    headersTimeout: BODY_TIMEOUT_MS,
    methods: ['POST'],
    refuse: refuseFault,
  };
  return createHTTPServer(settings, (req, res) => {
    const route = Object.hasOwn(routes, req.url ?? '') ? routes[req.url!] : undefined;
    respond(req, res, route).catch((error) => {
      const known = toApiError(error);
      if (known.code === 'internal_error') options.log.error({ err: error }, 'storage service error');
      sendError(res, known, randomUUID());
    });
  });
}

async function respond(req: IncomingMessage, res: ServerResponse, route: Answer | undefined): Promise<void> {
  if (!route) throw new ApiError('not_found', 'Unknown path.');
  if (req.method !== 'POST')
    throw new ApiError('method_not_allowed', 'Send POST.', { headers: ['allow', 'POST'] });
  const text = JSON.stringify(await route(req));
  res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(text) }).end(text);
}

async function signPuts({ masterKey, urlSigner }: InternalServiceOptions, req: IncomingMessage) {
  const namespace = requireWorkspace(req, masterKey);
  return urlSigner.signPuts({ ...(await readRequest(req, putUrlsRequest)), namespace });
}

async function signGets({ masterKey, urlSigner }: InternalServiceOptions, req: IncomingMessage) {
  const namespace = requireWorkspace(req, masterKey);
  return urlSigner.signGets({ ...(await readRequest(req, getUrlsRequest)), namespace });
}

async function verify(
  { masterKey, stores, readCredential }: InternalServiceOptions,
  req: IncomingMessage,
): Promise<VerifyAnswer> {
  requireToken(req, operatorToken(masterKey));
  const { namespace, id } = await readRequest(req, verifyRequest);
  const credential = await readCredential(namespace, id);
  if (!credential)
    throw new ApiError(
      'storage_credential_not_found',
      `No storage credential ${id} of ${namespace} is published.`,
    );
  return verifyCredential(stores, namespace, credential);
}

async function checkURL(
  { masterKey, egress }: InternalServiceOptions,
  req: IncomingMessage,
): Promise<CheckURLAnswer> {
  requireToken(req, operatorToken(masterKey));
  const { url } = await readRequest(req, checkUrlRequest);
  try {
    await egress.check(url);
    return { ok: true, message: '' };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    return { ok: false, message: error.message };
  }
}

async function lookUp(
  { masterKey, egress }: InternalServiceOptions,
  req: IncomingMessage,
): Promise<LookUpModelAnswer> {
  requireToken(req, operatorToken(masterKey));
  return lookUpModel(egress, await readRequest(req, lookUpModelRequest));
}

/** The namespace that the token belongs to: the request's own value is ignored. */
function requireWorkspace(req: IncomingMessage, masterKey: string): string {
  const namespace = req.headers[WORKSPACE_HEADER];
  if (typeof namespace !== 'string' || namespace === '') throw refuseToken();
  requireToken(req, storageToken(masterKey, namespace));
  return namespace;
}

function requireToken(req: IncomingMessage, token: string): void {
  const shown = /^Bearer (\S+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
  if (!timingSafeEqual(digest(shown), digest(token))) throw refuseToken();
}

/** Digests have equal length, whatever was presented. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const refuseToken = () => new ApiError('invalid_api_key', 'The token does not belong to this workspace.');

async function readRequest<T>(req: IncomingMessage, schema: ZodType<T>): Promise<T> {
  // The request stays open for the answer.
  const source = req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  const body = await readBody(source, MAX_BODY_BYTES).catch((error) => {
    if (error instanceof BodyTooLargeError) throw new ApiError('request_too_large', 'The body is too large.');
    throw error;
  });
  let question: unknown;
  try {
    question = JSON.parse(body.toString());
  } catch {
    throw new ApiError('invalid_json', 'The body is not JSON.');
  }
  const parsed = schema.safeParse(question);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ApiError('invalid_request_error', `${issue!.path.join('.')}: ${issue!.message}`);
}

function toApiError(thrown: unknown): ApiError {
  const error = explainRedisOutage(thrown);
  return error instanceof ApiError ? error : new ApiError('internal_error', 'The storage service failed.');
}
