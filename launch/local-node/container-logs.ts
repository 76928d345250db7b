/** `kubectl logs`: a container's log file, its tail, and following it. */
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  unwatchFile,
  watchFile,
} from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { badRequest, notFound } from '../../kube/memory/status-error.ts';
import type { Pod } from './pod-spec.ts';

export const logPathOf = (folder: string, { metadata }: Pick<Pod, 'metadata'>, container: string): string =>
  join(folder, `${metadata.namespace}_${metadata.name}_${container}.log`);

/** Logs of earlier pods: other parts' names have no "_", so their logs stay. */
export function removeLogs(folder: string): void {
  for (const file of readdirSync(folder))
    if (/^[^_]+_[^_]+_[^_]+\.log$/.test(file)) rmSync(join(folder, file), { force: true });
}

const FOLLOW_INTERVAL_MS = 200;
const MAX_TAIL_BYTES = 64 * 1024;
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/** Throws StatusError. */
export function sendLogs(folder: string, pod: Pod, query: URLSearchParams, res: ServerResponse): void {
  const { containers, initContainers = [] } = pod.spec;
  const name =
    query.get('container') ?? pod.metadata.annotations?.[DEFAULT_CONTAINER] ?? containers[0]?.name ?? '';
  if (![...containers, ...initContainers].some((container) => container.name === name))
    throw badRequest(`container ${name} is not valid for pod ${pod.metadata.name}`);
  const path = logPathOf(folder, pod, name);
  const lines = readLines(path);
  if (!lines) throw notFound('log of container', name);
  const tail = query.get('tailLines');
  res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  res.write((tail === null ? lines : Number(tail) === 0 ? [] : lines.slice(-Number(tail))).join(''));
  if (query.get('follow') !== 'true') res.end();
  else follow(path, res);
}

/** The end of what a log got after its first `start` bytes; empty if there is none. */
export const readTail = (path: string, lines: number, start: number): string =>
  (readLines(path, Math.max(start, sizeOf(path) - MAX_TAIL_BYTES)) ?? []).slice(-lines).join('').trimEnd();

/** In bytes; 0 if there is none. */
export const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function readLines(path: string, start = 0): string[] | undefined {
  try {
    return (
      readFileSync(path)
        .toString('utf8', start)
        .match(/[^\n]*\n|[^\n]+$/g) ?? []
    );
  } catch {
    return undefined;
  }
}

function follow(path: string, res: ServerResponse): void {
  let offset = statSync(path).size;
  const send = () => {
    let file: number;
    try {
      file = openSync(path, 'r');
    } catch {
      // Deleted by hand; there may be another.
      return;
    }
    const length = fstatSync(file).size - offset;
    if (length > 0) {
      const chunk = Buffer.alloc(length);
      readSync(file, chunk, 0, length, offset);
      offset += length;
      res.write(chunk);
    }
    closeSync(file);
  };
  watchFile(path, { interval: FOLLOW_INTERVAL_MS }, send);
  res.once('close', () => unwatchFile(path, send));
}
