/** Asynchronous requests: their records, including those of deleted deployments; results through an endpoint. */
import type Router from '@koa/router';
import { z } from 'zod';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import {
  DEFAULT_LIST_LIMIT,
  MAX_LIST_LIMIT,
  REQUEST_ID,
  REQUEST_STATUSES,
  type RequestRecord,
  type RequestStatus,
} from '../../../api/request.ts';
import { readDeploymentNames } from '../../../redis/console/console-reads.ts';
import { readCharge } from '../../../redis/requests/request-charge.ts';
import { listRequests, readRequest } from '../../../redis/requests/request-record.ts';
import type { RequestDetail, RequestView } from '../../api.ts';
import { callTimeout, readEndpointJSON } from '../endpoints/answer.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import type { Session } from '../sessions/sessions.ts';
import { toBaseURL } from '../views/deployment.ts';
import { mergeNewest, type Source } from '../views/newest.ts';
import { describeCharge, describeRecord, readEndpointError } from '../views/request.ts';
import { readKnownKeys } from './known-keys.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

/** Enough for some hundred deployments. */
const MAX_CURSOR = 16 * 1024;
const query = z.object({
  deployment: z.string().optional(),
  status: z.enum(['', ...REQUEST_STATUSES]).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
  /** The `cursor` of the last request of the previous page. */
  after: z.string().max(MAX_CURSOR).optional(),
  /** Only this request. */
  id: z.string().optional(),
});
const outputs = z.object({ output_urls: z.array(z.string()).default([]) });

/** The end of a page: the ID of the last request by deployment name. */
type Position = Record<string, string>;

const position = z.record(z.string(), z.string().regex(REQUEST_ID));

/** Throws invalid_request_error. */
function readCursor(cursor: string): Position {
  try {
    return position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new ConsoleError('invalid_request_error', '`after` must be the cursor of a request.', {
      param: 'after',
    });
  }
}

/** Only the last request needs one. */
function addCursors(records: RequestRecord[], begin: Position): RequestView[] {
  const end = { ...begin };
  for (const { deployment, id } of records) end[deployment] = id;
  const cursor = Buffer.from(JSON.stringify(end)).toString('base64url');
  return records.map((record, index) => ({
    ...describeRecord(record),
    cursor: index === records.length - 1 ? cursor : '',
  }));
}

export function addRequestRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, redis, endpoints } = services;

  router.get('/requests', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { deployment, status, limit, after, id } = check(ctx.query, query);
    await access.require(sessionOf(ctx), namespace, 'readRequests');
    const names = deployment ? [deployment] : await readDeploymentNames(redis, namespace);
    if (id) {
      const record = REQUEST_ID.test(id) ? await readRequest(redis, namespace, id) : null;
      const fits = record && names.includes(record.deployment) && (!status || record.status === status);
      ctx.body = fits ? [{ ...describeRecord(record), cursor: '' }] : [];
      return;
    }
    const begin = after === undefined ? {} : readCursor(after);
    const sources = names.map((name) =>
      readPages({ namespace, deployment: name, status, after: begin[name] }),
    );
    const records = await mergeNewest(sources, {
      limit,
      timeOf: ({ queuedAt }) => queuedAt,
    });
    ctx.body = addCursors(records, begin);
  });

  router.get('/requests/:deployment/:id', async (ctx) => {
    const { namespace = '', deployment = '', id = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'readRequests');
    const record = await find({ namespace, deployment, id });
    const [outputURLs, charge, keys] = await Promise.all([
      record.status === 'succeeded' ? findOutputs(session, namespace, record) : [],
      readCharge(redis, namespace, id),
      readKnownKeys(services, session.token, namespace),
    ]);
    ctx.body = {
      ...describeRecord(record),
      ...describeCharge(charge, keys),
      outputURLs,
    } satisfies RequestDetail;
  });

  router.post('/requests/:deployment/:id/cancel', async (ctx) => {
    const { namespace = '', deployment = '', id = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'cancelRequests');
    await find({ namespace, deployment, id });
    const baseURL = await findEndpoint(session, namespace, deployment);
    if (baseURL === null)
      throw new ConsoleError('conflict', 'No deployment is left that could cancel this request.');
    const path = `requests/${id}/cancel`;
    const signal = callTimeout();
    const called = await endpoints.call(session, namespace, { method: 'POST', baseURL, path, signal });
    const { statusCode } = called;
    const answer = await readEndpointJSON(called);
    if (statusCode > 299) throw readEndpointError(statusCode, answer);
    ctx.body = describeRecord(await find({ namespace, deployment, id }));
  });

  /** A deployment's requests, from page to page. */
  const readPages = (query: {
    namespace: string;
    deployment: string;
    status: RequestStatus | '' | undefined;
    after: string | undefined;
  }): Source<RequestRecord> => {
    const { status, namespace, deployment } = query;
    let { after } = query;
    return {
      read: async (limit) => {
        const page = { namespace, deployment, limit, ...(status && { status }), ...(after && { after }) };
        const records = await listRequests(redis, page);
        after = records.at(-1)?.id ?? after;
        return records;
      },
    };
  };

  const find = async (which: {
    namespace: string;
    deployment: string;
    id: string;
  }): Promise<RequestRecord> => {
    const { namespace, deployment, id } = which;
    const record = REQUEST_ID.test(id) ? await readRequest(redis, namespace, id) : null;
    if (record?.deployment === deployment) return record;
    throw new ConsoleError('not_found', `Request ${id} of ${deployment} not found.`);
  };

  /** [] if results have expired, or no endpoint is available to sign links. */
  const findOutputs = async (
    session: Session,
    namespace: string,
    { id, deployment }: RequestRecord,
  ): Promise<string[]> => {
    const baseURL = await findEndpoint(session, namespace, deployment);
    if (baseURL === null) return [];
    const call = { method: 'GET', baseURL, path: `requests/${id}`, signal: callTimeout() } as const;
    const called = await endpoints.call(session, namespace, call);
    const answer = await readEndpointJSON(called);
    return called.statusCode === 200 ? outputs.catch({ output_urls: [] }).parse(answer).output_urls : [];
  };

  /** The deployment's endpoint, or any other's: each handles all requests of its workspace. */
  const findEndpoint = async (session: Session, namespace: string, name: string): Promise<string | null> => {
    const addresses = await kubernetes.list(session.token, { plural, namespace }, (object) => {
      const { url } = (object.status ?? {}) as { url?: string };
      return url ? { name: object.metadata.name, baseURL: toBaseURL(url) } : undefined;
    });
    return (addresses.find((address) => address.name === name) ?? addresses[0])?.baseURL ?? null;
  };
}
