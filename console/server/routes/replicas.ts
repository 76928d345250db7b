/** The pods of a deployment, their events and logs, read as the user. */
import { Transform } from 'node:stream';
import { z } from 'zod';
import { POD_READS } from '../../../api/console-rights.ts';
import { podSelector } from '../../../api/names.ts';
import { LOG_LIMITS } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { StreamSlots } from '../http/stream-slots.ts';
import type { Selection } from '../kubernetes/paths.ts';
import { endWithSession } from '../sessions/session-stream.ts';
import { describeEventsOf } from '../views/event.ts';
import { describeReplica } from '../views/replica.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const MAX_EVENTS = 100;
const TAIL_LINES = 1_000;
const MAX_LOG_STREAMS = { each: LOG_LIMITS.streamsPerUser, all: 200 };
/** Selectors contain nothing else. */
const DEPLOYMENT = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const query = z.object({
  container: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be the name of a container'),
  previous: z.enum(['true', 'false']).default('false'),
});

export function addReplicaRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, streams, sessions } = services;
  const slots = new StreamSlots(MAX_LOG_STREAMS);

  serve(routes.listReplicas, async ({ session, namespace, name }) => {
    const selection = selectPods(name);
    const { token } = session;
    const replicas = selection
      ? await kubernetes.list(token, { plural: 'pods', namespace }, describeReplica, selection)
      : [];
    return replicas.sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.name.localeCompare(b.name));
  });

  serve(routes.listEvents, async ({ session, namespace, name }) => {
    const { token } = session;
    const place = { plural: 'events', namespace };
    const events = DEPLOYMENT.test(name) ? await kubernetes.list(token, place, describeEventsOf(name)) : [];
    return events.sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, MAX_EVENTS);
  });

  serve(routes.readLog, async ({ ctx, session, namespace, pod }) => {
    const { container, previous } = check(ctx.query, query);
    const mayRead = () => access.allows(session, namespace, POD_READS.readLogs);
    const ending = endWithSession(ctx, sessions, mayRead);
    ctx.res.once('close', slots.take(session.user));
    const signal = AbortSignal.any([ending, AbortSignal.timeout(LOG_LIMITS.seconds * 1_000)]);
    const options = {
      container,
      tailLines: TAIL_LINES,
      limitBytes: LOG_LIMITS.bytes,
      previous: previous === 'true',
    };
    const log = await streams.readLog(session.token, { namespace, pod }, options, signal);
    const body = limitBytes(LOG_LIMITS.bytes, () => log.destroy());
    // At its time limit, or with the connection to the API server, the log just ends.
    log.on('error', () => body.end());
    body.once('close', () => log.destroy());
    // What the client has not read by then is not sent anymore.
    ending.addEventListener('abort', () => body.destroy(), { once: true });
    if (ending.aborted) body.destroy();
    ctx.type = 'text/plain; charset=utf-8';
    ctx.set('x-accel-buffering', 'no');
    return log.pipe(body);
  });
}

function selectPods(deployment: string): Selection | null {
  if (!DEPLOYMENT.test(deployment)) return null;
  const labels = Object.entries(podSelector(deployment));
  return { labelSelector: labels.map(([name, value]) => `${name}=${value}`).join(',') };
}

/** Ends after so many bytes, even if the API server would continue. */
function limitBytes(max: number, onLimit: () => void): Transform {
  let left = max;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      done(null, part);
      if (left > 0) return;
      onLimit();
      this.end();
    },
  });
}
