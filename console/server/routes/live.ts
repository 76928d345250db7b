/** Notifies pages of changes, as server-sent events; they reread data by the other routes. */
import { PassThrough } from 'node:stream';
import type { AnnouncedTopic } from '../../api.ts';
import { routes } from '../../routes.ts';
import type { LiveListener } from '../live/feed.ts';
import { endWithSession } from '../sessions/session-stream.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const HEARTBEAT_MS = 25_000;
/** Browsers then reconnect, and permissions are rechecked. */
const MAX_STREAM_MS = 10 * 60_000;
const RECONNECT_MS = 2_000;
/** Buffer limit for a browser that does not read. */
const MAX_UNREAD_BYTES = 16 * 1024;

export function addLiveRoutes(serve: ServeRoute, { access, feeds, sessions }: Services): void {
  serve(routes.followChanges, async ({ ctx, session, namespace }) => {
    await access.require(session, namespace, 'seeNamespace');
    const mayRead = {
      requests: await access.may(session, namespace, 'readRequests'),
      deliveries: await access.may(session, namespace, 'readDeliveries'),
    };
    const signal = endWithSession(ctx, sessions, () => access.may(session, namespace, 'seeNamespace'));
    const body = new PassThrough();
    const write = (text: string) => {
      if (body.writableLength + body.readableLength > MAX_UNREAD_BYTES) body.destroy();
      else if (!body.writableEnded) body.write(text);
    };
    const notify = hideChanges(mayRead, (update) => write(`data: ${JSON.stringify(update)}\n\n`));
    const leave = feeds.listen(session, namespace, notify);
    write(`retry: ${RECONNECT_MS}\n\n`);
    const heartbeat = setInterval(() => write(': here\n\n'), HEARTBEAT_MS);
    const end = setTimeout(() => body.end(), MAX_STREAM_MS);
    body.once('close', () => {
      leave();
      clearInterval(heartbeat);
      clearTimeout(end);
    });
    signal.addEventListener('abort', () => body.destroy(), { once: true });
    ctx.type = 'text/event-stream';
    // Prevents proxies from buffering streams.
    ctx.set('x-accel-buffering', 'no');
    return body;
  });
}

/** Passes on changes that this user may see; changes of hidden topics are not reported at all. */
export function hideChanges(mayRead: Record<AnnouncedTopic, boolean>, notify: LiveListener): LiveListener {
  let lastNotified: string | undefined;
  return ({ watched, changed }) => {
    const visible = changed.filter((topic) => !(topic in mayRead) || mayRead[topic as AnnouncedTopic]);
    const names = watched.join();
    if (visible.length === 0 && names === lastNotified) return;
    lastNotified = names;
    notify({ watched, changed: visible });
  };
}
