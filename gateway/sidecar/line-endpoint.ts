/**
 * Runs lines of batches as the endpoint runs requests: the same validation, calls of the engine and answers. A line comes by a
 * connection of this process to itself, over a socket in its own file system: the pod's other containers share its network. It has
 * its slot already, and is charged by its batch.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Koa from 'koa';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { BodyTooLargeError, readBody } from '../../kit/bounded-body.ts';
import { closeServer, listenOnSocket } from '../../kit/http-server.ts';
import type { Bill } from '../account/account.ts';
import { Ledger } from '../account/ledger.ts';
import { PriceRounding } from '../account/price-rounding.ts';
import type { Admissions, Admitted } from '../auth/admission.ts';
import type { ChunkCost, LineAnswer, LineOrder, LineRunner } from '../batches/line-runner.ts';
import type { Capacity } from '../capacity/capacity.ts';
import type { LocalEngine } from '../health/local-engine.ts';
import { ApiError } from '../http/error-response.ts';
import { answerErrors } from '../http/errors.ts';
import { type GatewayMiddleware, type GatewayState, identifyRequest } from '../http/exchange.ts';
import { ROUTES } from '../http/routes.ts';
import { findRoute, requireAvailability, runHandler } from '../http/routing.ts';
import { createListener } from '../http/server.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import { buildTextHandlers, type TextServices } from '../text/text-routes.ts';

export interface LineEndpointOptions {
  config: () => GatewayConfig;
  engine: Pick<LocalEngine, 'url' | 'isReady'>;
  admissions: Pick<Admissions, 'admit'>;
  /** The endpoint's own. */
  text: TextServices;
  telemetry: Telemetry & { usage: DeploymentUsage };
}

interface OpenLine {
  order: LineOrder;
  admitted: Admitted;
  end: (bill: Bill | null) => void;
}

const HEADER = 'x-berth-line';
/** Engines serve the highest first. */
const LOWEST_PRIORITY = -100;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 1_000;
const PERCENT = 100;

export class LineEndpoint implements LineRunner {
  readonly #options: LineEndpointOptions;
  /** By a secret of this process. */
  readonly #open = new Map<string, OpenLine>();
  readonly #costs = new Set<ChunkCost>();
  readonly #agent = new Agent({ keepAlive: true });
  #server: Promise<{ server: Server; folder: string; path: string }> | null = null;

  constructor(options: LineEndpointOptions) {
    this.#options = options;
  }

  async run(order: LineOrder): Promise<LineAnswer> {
    const { namespace, name: deployment } = this.#options.config();
    const admitted = await this.#options.admissions.admit({
      namespace,
      sha256: order.sha256,
      counted: 'all',
      deployment,
      unsettledMicros: () => this.#sumCosts(order.sha256),
    });
    const secret = randomBytes(16).toString('hex');
    try {
      this.#server ??= this.#listen().catch((error) => {
        this.#server = null;
        throw error;
      });
      const { path } = await this.#server;
      const billed = new Promise<Bill | null>((end) => this.#open.set(secret, { order, admitted, end }));
      const answer = await this.#ask(path, secret, order);
      const text = await readAnswer(answer);
      return {
        status: answer.statusCode!,
        requestId: String(answer.headers['x-request-id'] ?? ''),
        body: text,
        bill: await billed,
      };
    } catch (error) {
      // It counts when it is run again.
      if (order.signal.aborted) admitted.uncount?.();
      throw error;
    } finally {
      this.#open.delete(secret);
    }
  }

  watch(cost: ChunkCost): () => void {
    this.#costs.add(cost);
    return () => this.#costs.delete(cost);
  }

  #sumCosts(key: string): number {
    let sum = 0;
    for (const { sha256, micros } of this.#costs) if (sha256 === key) sum += micros();
    return sum;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    if (!this.#server) return;
    const { server, folder } = await this.#server;
    await closeServer(server, CLOSE_TIMEOUT_MS);
    await rm(folder, { recursive: true, force: true });
  }

  #ask(socketPath: string, secret: string, { path, body, signal }: LineOrder): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          socketPath,
          path,
          method: 'POST',
          agent: this.#agent,
          signal,
          headers: {
            [HEADER]: secret,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        resolve,
      );
      request.on('error', reject).end(body);
    });
  }

  async #listen() {
    const server = createServer({ requestTimeout: 0 }, createListener(this.#build()));
    const folder = await mkdtemp(join(tmpdir(), 'berth-lines-'));
    const path = join(folder, 'socket');
    await listenOnSocket(server, path);
    return { server, folder, path };
  }

  #build(): Koa<GatewayState> {
    const { config, text, telemetry } = this.#options;
    const { log, metrics, usage, tracer } = telemetry;
    const model = () => ({ provider: config().enginePreset, model: config().modelId });
    const ledger = new Ledger({ config, settlements: priceOnly(config), usage, metrics });
    const capacity = this.#takeNothing();
    const app = new Koa<GatewayState>();
    app.use(identifyRequest(tracer));
    app.use(this.#endLine());
    app.use(answerErrors({ log, metrics, findUsage: () => usage, model }));
    app.use(this.#identifyLine());
    app.use(findRoute(ROUTES, config));
    app.use(requireAvailability(ROUTES, config));
    app.use(runHandler(buildTextHandlers({ ...text, ledger, capacity, traffic: undefined })));
    return app;
  }

  #endLine(): GatewayMiddleware {
    return async ({ req, state }, next) => {
      try {
        await next();
      } finally {
        this.#open.get(String(req.headers[HEADER]))?.end(state.exchange.account.bill);
      }
    };
  }

  #identifyLine(): GatewayMiddleware {
    return ({ req, state }, next) => {
      const line = this.#open.get(String(req.headers[HEADER]));
      if (!line) throw new ApiError('invalid_api_key', 'This socket is for lines of batches.');
      state.keyHash = line.order.sha256;
      state.keyName = line.admitted.keyName;
      state.priority = LOWEST_PRIORITY;
      state.exchange.uncount = line.admitted.uncount;
      return next();
    };
  }

  /** A line has its slot already. */
  #takeNothing(): Capacity {
    const { url: origin, isReady } = this.#options.engine;
    const target = { origin, pathPrefix: '', headers: {}, local: true, release: () => {} };
    return {
      acquire: () => (isReady() ? { target } : { refusal: 'no_pod_available' }),
      acquireElsewhere: () => ({ refusal: 'no_pod_available' }),
    };
  }
}

/** What a line costs, without charging it: a chunk is charged as a whole, once. */
function priceOnly(config: () => GatewayConfig) {
  const rounding = new PriceRounding();
  return {
    charge: ({ keyHash, price }: { keyHash: string; price: number }) =>
      rounding.round(keyHash, (price * (config().pricing.batchPercent ?? PERCENT)) / PERCENT),
  };
}

async function readAnswer(answer: IncomingMessage): Promise<string> {
  try {
    return (await readBody(answer, MAX_ANSWER_BYTES)).toString();
  } catch (error) {
    if (error instanceof BodyTooLargeError)
      throw new ApiError('upstream_error', `The answer has more than ${MAX_ANSWER_BYTES} bytes.`);
    throw error;
  }
}
