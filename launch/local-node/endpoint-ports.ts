/**
 * A port of 127.0.0.1 for each deployment, which routes like its Service in a cluster: each connection to a ready
 * pod, or to the front while there is none.
 */
import {
  createServer as createHTTPServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { type DeploymentName, LABELS, PORTS } from '../../api/names.ts';
import type { MemoryApi } from '../../kube/memory/memory-api.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { LocalNode } from './local-node.ts';
import { isPodReady } from './pod-status.ts';

export interface EndpointPortsOptions {
  api: MemoryApi;
  node: Pick<LocalNode, 'addressOf'>;
  host: string;
  frontPort: number;
  /** The first port, and their number. */
  firstPort: number;
  count: number;
  onError: (error: Error) => void;
}

const keyOf = ({ namespace, name }: DeploymentName): string => `${namespace}/${name}`;

export class EndpointPorts {
  readonly #options: EndpointPortsOptions;
  readonly #ports = new Map<string, number>();
  readonly #servers = new Map<string, NetServer>();
  /** In use by another program. */
  readonly #taken = new Set<number>();
  readonly #sockets = new Set<Socket>();
  readonly #forwarder: Server;
  #turn = 0;

  constructor(options: EndpointPortsOptions) {
    this.#options = options;
    this.#forwarder = createHTTPServer((req, res) => this.#forward(req, res));
  }

  portOf(deployment: DeploymentName): number | undefined {
    return this.#ports.get(keyOf(deployment));
  }

  /** The deployment's own port, until it is released; undefined if none is left. */
  reserve(deployment: DeploymentName): number | undefined {
    const key = keyOf(deployment);
    const known = this.#ports.get(key);
    if (known !== undefined) return known;
    const { firstPort, count } = this.#options;
    const given = new Set([...this.#ports.values(), ...this.#taken]);
    const port = Array.from({ length: count }, (_, index) => firstPort + index).find(
      (one) => !given.has(one),
    );
    if (port !== undefined) this.#ports.set(key, port);
    return port;
  }

  /** Listens for each existing deployment once; reports one for which there is no port. */
  open(deployment: DeploymentName): void {
    const { host, count, onError } = this.#options;
    const key = keyOf(deployment);
    if (this.#servers.has(key)) return;
    const port = this.reserve(deployment);
    if (port === undefined) {
      onError(new Error(`no port left for ${key}: make run serves at most ${count} deployments`));
      return;
    }
    const server = createServer((socket) => this.#serve(deployment, socket));
    this.#servers.set(key, server);
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE' || this.#servers.get(key) !== server) return onError(error);
      this.#taken.add(port);
      this.free(deployment);
      this.open(deployment);
    });
    server.listen(port, host);
  }

  /** For another deployment; responses in progress finish. */
  free(deployment: DeploymentName): void {
    const key = keyOf(deployment);
    this.#servers.get(key)?.close();
    this.#servers.delete(key);
    this.#ports.delete(key);
  }

  close(): void {
    for (const server of this.#servers.values()) server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#forwarder.closeAllConnections();
  }

  #serve(deployment: DeploymentName, socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    const target = this.#pickPod(deployment);
    if (target) pipe(socket, connect(target));
    else this.#forwarder.emit('connection', Object.assign(socket, { deployment }));
  }

  #pickPod({ namespace, name }: DeploymentName): { host: string; port: number } | undefined {
    const { api, node } = this.#options;
    const ready = api.list('pods', namespace).filter((pod) => isReplica(pod, name) && isPodReady(pod));
    const pod = ready[this.#turn++ % Math.max(1, ready.length)];
    const address = pod && node.addressOf(pod.metadata.uid!);
    return address && { host: address.ip, port: address.port(PORTS.http) };
  }

  #forward(req: IncomingMessage, res: ServerResponse): void {
    const { host, frontPort } = this.#options;
    // The front also resolves deployments by the names of their Services.
    const { namespace, name } = (req.socket as Socket & { deployment: DeploymentName }).deployment;
    const headers = { ...req.headers, host: `${name}.${namespace}.svc`, connection: 'close' };
    const upstream = request(
      { host, port: frontPort, method: req.method, path: req.url, headers },
      (answer) => {
        // The next request may find a pod.
        res.writeHead(answer.statusCode!, { ...answer.headers, connection: 'close' });
        answer.pipe(res);
        answer.once('error', () => res.destroy());
      },
    );
    upstream.once('error', () => res.destroy());
    res.once('close', () => upstream.destroy());
    req.pipe(upstream);
  }
}

const isReplica = ({ metadata }: KubeObject, name: string): boolean =>
  metadata.labels?.[LABELS.deployment] === name && !metadata.deletionTimestamp;

function pipe(client: Socket, pod: Socket): void {
  client.setNoDelay(true);
  pod.setNoDelay(true);
  pod.on('error', () => client.destroy());
  client.on('error', () => pod.destroy());
  client.once('close', () => pod.destroy());
  pod.once('close', () => client.destroy());
  client.pipe(pod).pipe(client);
}
