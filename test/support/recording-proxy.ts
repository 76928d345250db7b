/** Between a program and an endpoint: records what the program asks, and lets it reach nothing else. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from '../../kit/bounded-body.ts';

export interface RecordedRequest {
  /** Since the proxy started. */
  seconds: number;
  method: string;
  path: string;
  body: string;
  status: number;
  retryAfter: string | undefined;
}

export interface RecordingProxy {
  /** Takes the place of the endpoint's. */
  origin: string;
  requests: RecordedRequest[];
  /** By performance.now(). */
  startedAt: number;
  /** Hosts that the program tried to reach besides. */
  outside: Set<string>;
  /** Environment of the program. */
  env: Record<string, string>;
  stop(): void;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;

export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const outside = new Set<string>();
  const startedAt = performance.now();
  const relay = async (req: IncomingMessage, res: ServerResponse) => {
    const body = await readBody(req, MAX_BODY_BYTES);
    const recorded = {
      seconds: (performance.now() - startedAt) / 1_000,
      method: req.method!,
      path: req.url!,
      body: body.toString(),
      status: 0,
      retryAfter: undefined as string | undefined,
    };
    requests.push(recorded);
    const { host } = new URL(target);
    const options = { method: req.method!, headers: { ...req.headers, host } };
    const call = request(`${target}${req.url}`, options, (answer) => {
      recorded.status = answer.statusCode!;
      recorded.retryAfter = answer.headers['retry-after'];
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    call.on('error', () => res.destroy()).end(body);
  };
  const endpoint = createServer((req, res) => void relay(req, res).catch(() => res.destroy()));
  // What it would ask a proxy for goes nowhere.
  const wall = createServer((req, res) => {
    outside.add(new URL(req.url!).host);
    res.writeHead(403).end();
  });
  wall.on('connect', (req, socket) => {
    outside.add(req.url!);
    socket.destroy();
  });
  const [origin, proxy] = await Promise.all([endpoint, wall].map(open));
  const env = Object.fromEntries(
    ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [name, proxy!]),
  );
  return {
    origin: origin!,
    startedAt,
    requests,
    outside,
    env: { ...env, no_proxy: '127.0.0.1,localhost', NO_PROXY: '127.0.0.1,localhost' },
    stop: () => {
      for (const server of [endpoint, wall]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

const open = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
