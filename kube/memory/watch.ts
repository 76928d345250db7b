/** Watches: changes since a version, and then each change, in the client's format. */
import type { ServerResponse } from 'node:http';
import type { KubeObject } from '../object.ts';
import type { MemoryApi } from './memory-api.ts';
import type { ObjectChange } from './object-store.ts';
import { typeKey } from './resource-type.ts';
import type { Predicate } from './selectors.ts';
import { gone } from './status-error.ts';

export interface WatchRequest {
  key: string;
  selects: Predicate;
  /** undefined or 0: starting with all existing objects. */
  resourceVersion: string | undefined;
  sendInitialEvents: boolean;
  bookmarks: boolean;
  timeoutMs: number;
  format: (objects: KubeObject) => object;
}

const BOOKMARK_INTERVAL_MS = 20_000;

/** Streams until the timeout or the client disconnects. Throws StatusError 410 for a version that is too old. */
export function serveWatch(api: MemoryApi, res: ServerResponse, request: WatchRequest): void {
  const { key, selects, resourceVersion, format } = request;
  const type = api.type(key);
  const stored = type.view?.of ?? typeKey(type);
  const show = (object: KubeObject): KubeObject => type.view?.read(object) ?? object;
  const from = Number(resourceVersion ?? 0);
  const isFresh = request.sendInitialEvents || from === 0 || Number.isNaN(from);
  const missed = isFresh ? [] : api.store.since(from);
  if (!missed) throw gone(`too old resource version: ${resourceVersion}`);

  res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache' });
  res.flushHeaders();
  const send = (event: string, object: object) => res.write(`${JSON.stringify({ type: event, object })}\n`);
  const sendChange = (change: ObjectChange) => {
    if (change.key !== stored) return;
    const [object, before] = [show(change.object), change.before && show(change.before)];
    const was = before !== undefined && selects(before);
    const is = change.type !== 'DELETED' && selects(object);
    if (is) send(was ? 'MODIFIED' : 'ADDED', format(object));
    else if (was) send('DELETED', format(object));
  };
  const bookmark = (annotations?: Record<string, string>) => {
    const { version } = api.store;
    const metadata = { resourceVersion: String(version), ...(annotations ? { annotations } : {}) };
    const { apiVersion, kind } = describeEmpty(type);
    send('BOOKMARK', { apiVersion, kind, metadata });
  };
  if (isFresh) for (const object of api.list(key)) if (selects(object)) send('ADDED', format(object));
  for (const change of missed) sendChange(change);
  if (request.sendInitialEvents) bookmark({ 'k8s.io/initial-events-end': 'true' });

  const stopListening = api.store.listen(sendChange);
  const bookmarks = request.bookmarks ? setInterval(bookmark, BOOKMARK_INTERVAL_MS) : undefined;
  const timeout = setTimeout(() => res.end(), request.timeoutMs);
  res.once('close', () => {
    stopListening();
    clearInterval(bookmarks);
    clearTimeout(timeout);
  });
}

const describeEmpty = ({ group, version, kind }: { group: string; version: string; kind: string }) => ({
  apiVersion: group === '' ? version : `${group}/${version}`,
  kind,
});
