/** One asynchronous request, also of a deleted deployment; its results, through an endpoint. */
import { z } from 'zod';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import { REQUEST_ID, type RequestRecord } from '../../../api/request.ts';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';
import { cancelQueued } from '../../../redis/requests/queue-cancellation.ts';
import { readQueuePlace } from '../../../redis/requests/queue-place.ts';
import { type ChargedRecord, readRequest } from '../../../redis/requests/request-record.ts';
import { routes } from '../../routes.ts';
import { callTimeout, readEndpointJSON } from '../endpoints/answer.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import type { Session } from '../sessions/session.ts';
import { toBaseURL } from '../views/deployment.ts';
import { describeCharge, describeRecord, readEndpointError } from '../views/request.ts';
import { readKnownKeys } from './known-keys.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

/** Parts of queues that are canceled at once; a workspace's one after the other. */
const CANCELS = { total: 4, perOwner: 1 };
/** Unix milliseconds, of which Redis is asked in microseconds. */
const MAX_TIME = 9e12;
const part = z.object({ before: z.coerce.number().int().positive().max(MAX_TIME).optional() });
const NO_INPUT = { parameters: null, files: [] };
const input = z.object({
  parameters: z.record(z.string(), z.unknown()).nullable(),
  files: z.array(z.object({ contentType: z.string(), fileName: z.string(), bytes: z.number() })),
});
const retried = z.object({ id: z.string().regex(REQUEST_ID) });
const outputs = z.object({ output_urls: z.array(z.string()).default([]) });

export function addRequestRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, redis, endpoints } = services;
  const cancels = new ConcurrencyLimit(CANCELS.total, CANCELS);

  serve(routes.readRequest, async ({ session, namespace, deployment, id }) => {
    await access.require(session, namespace, 'readRequests');
    const record = await find({ namespace, deployment, id });
    const [outputURLs, keys, place] = await Promise.all([
      record.status === 'succeeded' ? findOutputs(session, namespace, record) : [],
      readKnownKeys(services, session.token, namespace),
      // An operator that is older than this console has not loaded the function.
      record.status === 'queued' ? readQueuePlace(redis, namespace, id).catch(() => null) : null,
    ]);
    return {
      ...describeRecord(record),
      ...describeCharge(record.charge, keys),
      outputURLs,
      retryOf: record.retryOf,
      retriedAs: record.retriedAs,
      replays: record.replays && {
        ...record.replays,
        lastAt: new Date(record.replays.lastAt).toISOString(),
      },
      place,
    };
  });

  serve(routes.cancelRequest, async ({ session, namespace, deployment, id }) => {
    await access.require(session, namespace, 'cancelRequests');
    await find({ namespace, deployment, id });
    const baseURL = await findEndpoint(session, namespace, deployment);
    if (baseURL === null)
      throw new ConsoleError(
        'conflict',
        'The request cannot be canceled: no deployment with an endpoint is left.',
      );
    await ask(session, namespace, { method: 'POST', baseURL, path: `requests/${id}/cancel` });
    return describeRecord(await find({ namespace, deployment, id }));
  });

  serve(routes.cancelQueued, async ({ ctx, session, namespace, deployment }) => {
    await access.require(session, namespace, 'cancelRequests');
    const { before } = check(ctx.query, part);
    await kubernetes.get(session.token, { plural, namespace }, deployment);
    return cancels.run(() => cancelQueued(redis, { namespace, deployment, before }), namespace);
  });

  serve(routes.readRequestInput, async ({ session, namespace, deployment, id }) => {
    await access.require(session, namespace, 'readRequests');
    await find({ namespace, deployment, id });
    const baseURL = await findEndpoint(session, namespace, deployment);
    const answer =
      baseURL === null
        ? NO_INPUT
        : await ask(session, namespace, { method: 'GET', baseURL, path: `requests/${id}/input` });
    return input.parse(answer);
  });

  serve(routes.retryRequest, async ({ ctx, session, namespace, deployment, id }) => {
    await access.require(session, namespace, 'readRequests');
    await access.require(session, namespace, 'usePlayground');
    await find({ namespace, deployment, id });
    const object = await kubernetes.get(session.token, { plural, namespace }, deployment);
    const { url } = (object.status ?? {}) as { url?: string };
    if (!url) throw new ConsoleError('conflict', 'The deployment has no URL yet.');
    const call = { method: 'POST', baseURL: toBaseURL(url), path: `requests/${id}/retry` } as const;
    ctx.status = 202;
    return retried.parse(await ask(session, namespace, call));
  });

  /** The JSON of an endpoint. Throws ConsoleError with its message. */
  const ask = async (
    session: Session,
    namespace: string,
    call: { method: 'GET' | 'POST'; baseURL: string; path: string },
  ): Promise<unknown> => {
    const called = await endpoints.call(session, namespace, { ...call, signal: callTimeout() });
    const answer = await readEndpointJSON(called);
    if (called.statusCode > 299) throw readEndpointError(called.statusCode, answer);
    return answer;
  };

  const find = async (which: {
    namespace: string;
    deployment: string;
    id: string;
  }): Promise<ChargedRecord> => {
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
