/** A hub with one repository and Hugging Face's protocol: a list, redirects to a second host for large files, ranges, tokens. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Download {
  path: string;
  /** First requested byte. */
  start: number;
}

export interface ModelHub {
  url: string;
  /** By path; changes are served as another commit. */
  readonly files: Map<string, Buffer>;
  readonly downloads: Download[];
  /** The status of every response instead. */
  refuseWith: number | undefined;
  /** Token of a private repository. */
  token: string | undefined;
  /** Breaks off a download after this many bytes, once for each number. */
  cuts: number[];
  /** Changes the content of downloads. */
  corrupt: ((bytes: Buffer) => Buffer) | undefined;
  /** Holds each download until it resolves, after its first bytes. */
  gate: Promise<void> | undefined;
  /** Authorization headers that the second host received; there must be none. */
  readonly leaked: string[];
  commit(): string;
  stop(): Promise<void>;
}

const LARGE = 1_000;

export async function startModelHub(repository: string, host = '127.0.0.1'): Promise<ModelHub> {
  const hub: Omit<ModelHub, 'url' | 'stop'> = {
    files: new Map(),
    downloads: [],
    refuseWith: undefined,
    token: undefined,
    cuts: [],
    corrupt: undefined,
    gate: undefined,
    leaked: [],
    commit: () => {
      const hash = createHash('sha1');
      for (const [path, bytes] of hub.files) hash.update(path).update(bytes);
      return hash.digest('hex');
    },
  };
  const storage = createServer((req, res) => {
    if (req.headers.authorization) hub.leaked.push(req.headers.authorization);
    const path = decodeURIComponent(req.url!.slice(1));
    void sendFile(hub, path, req, res);
  });
  const storageURL = await listen(storage, host);
  const server = createServer((req, res) => {
    const status = hub.refuseWith ?? answerRepository(req, res);
    if (status !== undefined) res.writeHead(status).end();
  });
  /** Returns a status if there is no content. */
  function answerRepository(req: IncomingMessage, res: ServerResponse): number | undefined {
    if (hub.token !== undefined && req.headers.authorization !== `Bearer ${hub.token}`) return 401;
    const [route = ''] = req.url!.split('?');
    if (route.startsWith(`/api/models/${repository}/revision/`)) {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ sha: hub.commit(), siblings: [...hub.files].map(describeFile) }));
      return undefined;
    }
    const prefix = `/${repository}/resolve/${hub.commit()}/`;
    const path = route.startsWith(prefix) ? decodeURIComponent(route.slice(prefix.length)) : '';
    const bytes = hub.files.get(path);
    if (!bytes) return 404;
    if (bytes.length < LARGE) void sendFile(hub, path, req, res);
    else
      res
        .writeHead(302, {
          location: `${storageURL}/${encodeURIComponent(path)}`,
          'x-linked-etag': `"${sha256(bytes)}"`,
          'x-linked-size': String(bytes.length),
          'x-repo-commit': hub.commit(),
        })
        .end();
    return undefined;
  }
  const url = await listen(server, host);
  return Object.assign(hub, {
    url,
    stop: async () => {
      for (const each of [server, storage]) {
        each.closeAllConnections();
        each.close();
      }
    },
  });
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function describeFile([path, bytes]: [string, Buffer]) {
  const blob = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
  const lfs = { sha256: sha256(bytes), size: bytes.length, pointerSize: 130 };
  return { rfilename: path, size: bytes.length, blobId: blob, ...(bytes.length >= LARGE && { lfs }) };
}

async function sendFile(
  hub: Pick<ModelHub, 'files' | 'downloads' | 'cuts' | 'corrupt' | 'gate'>,
  path: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const whole = hub.files.get(path)!;
  const [, from] = /^bytes=(\d+)-$/.exec(req.headers.range ?? '') ?? [];
  const start = Number(from ?? 0);
  hub.downloads.push({ path, start });
  const bytes = (hub.corrupt?.(whole) ?? whole).subarray(start);
  res.writeHead(from === undefined ? 200 : 206, {
    'content-length': bytes.length,
    ...(from !== undefined && { 'content-range': `bytes ${start}-${whole.length - 1}/${whole.length}` }),
  });
  const cut = bytes.length >= LARGE ? hub.cuts.shift() : undefined;
  if (cut !== undefined) {
    res.write(bytes.subarray(0, cut), () => res.destroy());
    return;
  }
  if (hub.gate && bytes.length >= LARGE) {
    res.write(bytes.subarray(0, LARGE / 2));
    await hub.gate;
    res.end(bytes.subarray(LARGE / 2));
  } else res.end(bytes);
}

async function listen(server: Server, host: string): Promise<string> {
  server.listen(0, host);
  await once(server, 'listening');
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}
