/** Asynchronous requests: their records, also those of deployments that are gone; results by way of an endpoint. */
import type Router from '@koa/router';
import { z } from 'zod';
import { modelDeploymentResource } from '../../../contract/model-deployment.ts';
import {
  DEFAULT_LIST_LIMIT,
  MAX_LIST_LIMIT,
  REQUEST_ID,
  REQUEST_STATUSES,
  type RequestRecord,
} from '../../../contract/request.ts';
import { readDeploymentNames } from '../../../redis/console-reads.ts';
import { listRequests, readRequest } from '../../../redis/request-record.ts';
import type { RequestDetail } from '../../api.ts';
import { check } from '../bodies.ts';
import { toBaseURL } from '../deployment-view.ts';
import { ConsoleError } from '../error.ts';
import { describeRecord, readEndpointError } from '../request-view.ts';
import type { Services } from '../services.ts';
import type { Session } from '../sessions.ts';
import { type ConsoleState, sessionOf } from '../state.ts';

const { plural } = modelDeploymentResource;

const query = z.object({
  deployment: z.string().optional(),
  status: z.enum(['', ...REQUEST_STATUSES]).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
});
const outputs = z.object({ output_urls: z.array(z.string()).default([]) });

export function addRequestRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, redis, endpoints } = services;

  router.get('/requests', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { deployment, status, limit } = check(ctx.query, query);
    await access.require(sessionOf(ctx), namespace, 'readRequests');
    const names = deployment ? [deployment] : await readDeploymentNames(redis, namespace);
    const lists = names.map((name) =>
      listRequests(redis, { namespace, deployment: name, limit, ...(status && { status }) }),
    );
    const records = (await Promise.all(lists)).flat().sort((a, b) => b.queuedAt - a.queuedAt);
    ctx.body = records.slice(0, limit).map(describeRecord);
  });

  router.get('/requests/:deployment/:id', async (ctx) => {
    const { namespace = '', deployment = '', id = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'readRequests');
    const record = await find({ namespace, deployment, id });
    const outputURLs = record.status === 'succeeded' ? await findOutputs(session, namespace, record) : [];
    ctx.body = { ...describeRecord(record), outputURLs } satisfies RequestDetail;
  });

  router.post('/requests/:deployment/:id/cancel', async (ctx) => {
    const { namespace = '', deployment = '', id = '' } = ctx.params;
    const session = sessionOf(ctx);
    await access.require(session, namespace, 'cancelRequests');
    await find({ namespace, deployment, id });
    const baseURL = await findEndpoint(session, namespace, deployment);
    if (baseURL === null) throw new ConsoleError('conflict', 'No deployment is left that could cancel it.');
    const path = `requests/${id}/cancel`;
    const { statusCode, body } = await endpoints.call(session, namespace, { method: 'POST', baseURL, path });
    const answer: unknown = await body.json().catch(() => ({}));
    if (statusCode > 299) throw readEndpointError(statusCode, answer);
    ctx.body = describeRecord(await find({ namespace, deployment, id }));
  });

  const find = async (which: {
    namespace: string;
    deployment: string;
    id: string;
  }): Promise<RequestRecord> => {
    const { namespace, deployment, id } = which;
    const record = REQUEST_ID.test(id) ? await readRequest(redis, namespace, id) : null;
    if (record?.deployment === deployment) return record;
    throw new ConsoleError('not_found', `There is no request ${id} of ${deployment}.`);
  };

  /** [] where results are gone, or no endpoint is there to sign links. */
  const findOutputs = async (
    session: Session,
    namespace: string,
    { id, deployment }: RequestRecord,
  ): Promise<string[]> => {
    const baseURL = await findEndpoint(session, namespace, deployment);
    if (baseURL === null) return [];
    const call = { method: 'GET', baseURL, path: `requests/${id}` } as const;
    const { statusCode, body } = await endpoints.call(session, namespace, call);
    const answer: unknown = await body.json().catch(() => ({}));
    return statusCode === 200 ? outputs.catch({ output_urls: [] }).parse(answer).output_urls : [];
  };

  /** The deployment's own, or any other's: each looks after all requests of its workspace. */
  const findEndpoint = async (session: Session, namespace: string, name: string): Promise<string | null> => {
    const objects = await kubernetes.list(session.token, { plural, namespace });
    const addresses = objects.flatMap((object) => {
      const { url } = (object.status ?? {}) as { url?: string };
      return url ? [{ name: object.metadata.name, baseURL: toBaseURL(url) }] : [];
    });
    return (addresses.find((address) => address.name === name) ?? addresses[0])?.baseURL ?? null;
  };
}
