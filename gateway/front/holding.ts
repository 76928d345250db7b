/** Holds one request until a replica responds (docs/api.md, "Cold starts"). */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import { heldToken } from '../../api/identity.ts';
import type { RedisClient } from '../../redis/client.ts';
import { HELD_HEADER } from '../capacity/peer-protocol.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { openLease, readJsonBody } from '../http/json-body.ts';
import { StreamNotices } from '../http/stream-notices.ts';
import { explainMissingReplica, findShutdown, refuseAsUnavailable } from '../http/unavailability.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { inSpan } from '../tracing/span.ts';
import type { ColdStarts } from './cold-starts.ts';
import type { HoldEnd, Turn } from './demand/hold-queue.ts';
import type { Hold } from './demand/hold-queues.ts';
import { readPreferredWait } from './demand/prefer.ts';
import type { Directory, KnownDeployment } from './directory.ts';
import { HeldAnswer } from './held-answer.ts';
import { type ProxyOptions, proxyRequest } from './proxy.ts';

/** Whose replicas a token belongs to. */
export type TokenHolder = Pick<GatewayConfig, 'namespace' | 'name' | 'adapter'>;

export interface HoldingServices extends ColdStarts {
  redis: RedisClient;
  proxy: ProxyOptions;
  directory: Pick<Directory, 'find'>;
  /** Token of a deployment's replicas. */
  peerToken: (deployment: TokenHolder) => string;
  metrics: Pick<GatewayMetrics, 'held' | 'holdTime'>;
}

export interface HeldState extends GatewayState {
  deployment: KnownDeployment;
}

/** Larger ones stay in their socket: it is then unknown whether they want a stream, and they cannot be sent twice (decision 0227). */
const MAX_READ_BODY_BYTES = 1024 * 1024;
/** How much of an unread body its socket may buffer. */
const SOCKET_BYTES = 64 * 1024;
/** The server ends a request whose body has not come within some 5 minutes (`createServer`): the upload needs the rest. */
const MAX_UNREAD_MS = 4 * 60_000;
const STREAMED = new Set(['chat_completions', 'completions', 'responses', 'messages']);
const FULL_RETRY_SECONDS = 5;

interface HeldBody {
  /** null: it was not read. */
  raw: Buffer | null;
  isStream: boolean;
}

/**
 * Throws ApiError if no replica is ready in time, or the queue is full. `uncount`: called when a replica counts the
 * request.
 */
export async function holdRequest(
  services: HoldingServices,
  state: HeldState,
  uncount: () => void,
): Promise<void> {
  const { exchange, deployment } = state;
  const { queues, replicaDemand, metrics } = services;
  const { config } = deployment;
  exchange.res.shouldKeepAlive = false;
  const keptLength = readKeptLength(state);
  const limitMs = decideHold(state, keptLength === null ? MAX_UNREAD_MS : Number.POSITIVE_INFINITY);
  // A place in the queue first, so that no body is read without one.
  const hold = queues.enter(config, {
    caller: state.keyHash,
    bytes: keptLength ?? SOCKET_BYTES,
    timeoutMs: limitMs - exchange.elapsed(),
  });
  const body = hold && (limitMs > 0 ? await readBodyOf(hold, state) : { raw: null, isStream: false });
  if (!hold || !body) {
    hold?.end();
    metrics.holdTime.observe('overflow', 0);
    replicaDemand.refuse(config);
    throw await refuse(services, state);
  }
  const run = new Holding(services, state, { body, hold, uncount });
  await run.serve();
}

/** Leaves the queue if the body cannot be read. */
async function readBodyOf(hold: Hold, state: HeldState): Promise<HeldBody | null> {
  try {
    return await readBody(state);
  } catch (error) {
    hold.end();
    throw error;
  }
}

/** Milliseconds from the request's arrival, at most `mostMs`; 0 or less: it does not wait. */
function decideHold({ exchange, deployment }: HeldState, mostMs: number): number {
  const { scaling, limits } = deployment.config;
  const preferred = readPreferredWait(exchange.req.headers.prefer);
  if (preferred !== null) exchange.res.setHeader('preference-applied', `wait=${preferred}`);
  return Math.min(
    mostMs,
    scaling!.holdForMs,
    limits.requestTimeoutMs,
    (preferred ?? Number.POSITIVE_INFINITY) * 1_000,
  );
}

/** null if there is no memory for it. */
async function readBody(state: HeldState): Promise<HeldBody | null> {
  if (readKeptLength(state) !== null) {
    state.exchange.sendContinue();
    return readJsonBody(state, {
      limits: state.deployment.config.limits,
      interpret: ({ raw, value }) => ({
        raw,
        isStream: value.stream === true && STREAMED.has(state.route.name),
      }),
      isKept: true,
    });
  }
  return openLease(state).tryAdd(SOCKET_BYTES) ? { raw: null, isStream: false } : null;
}

/** For a body that is read and kept; null for others. */
function readKeptLength({ exchange: { req } }: HeldState): number | null {
  const isForm = /^\s*multipart\//i.test(req.headers['content-type'] ?? '');
  const length = Number(req.headers['content-length'] ?? Number.NaN);
  return !isForm && length <= MAX_READ_BODY_BYTES ? length : null;
}

async function refuse({ starts, directory }: HoldingServices, { deployment }: HeldState): Promise<ApiError> {
  const { namespace, name } = deployment.config;
  // It may have waited for long.
  const known = await Promise.resolve(directory.find(namespace, name)).catch(() => deployment);
  if (!known) return refuseAsUnavailable('deleting', `The deployment ${name} is being deleted.`);
  const { config, addresses } = known;
  const shutdown = findShutdown(config);
  if (shutdown) return shutdown;
  if (addresses.length > 0)
    return new ApiError('replica_saturated', 'Every replica is at its concurrency limit.', {
      retryAfter: FULL_RETRY_SECONDS,
    });
  return explainMissingReplica(config, starts.estimateSeconds(config));
}

class Holding {
  readonly #services: HoldingServices;
  readonly #state: HeldState;
  readonly #body: HeldBody;
  readonly #hold: Hold;
  readonly #uncount: () => void;
  readonly #notices: StreamNotices | null;
  /** A replica has the request, but has not started to respond. */
  #isServed = false;
  /** Response of the last replica without a slot. */
  #saturation: ApiError | null = null;

  constructor(
    services: HoldingServices,
    state: HeldState,
    { body, hold, uncount }: { body: HeldBody; hold: Hold; uncount: () => void },
  ) {
    const { exchange, deployment } = state;
    this.#services = services;
    this.#state = state;
    this.#body = body;
    this.#hold = hold;
    this.#uncount = uncount;
    // Comments are not events.
    if (body.isStream) exchange.countEvents = () => 0;
    const { streamKeepAliveMs: intervalMs } = deployment.config.limits;
    this.#notices = body.isStream
      ? new StreamNotices({ exchange, intervalMs, describe: () => this.#describeWait() })
      : null;
  }

  async serve(): Promise<void> {
    const { exchange } = this.#state;
    const stopListening = exchange.onCancel(() => this.#hold.end());
    try {
      while (!(await this.#serveTurn(await this.#waitForTurn())));
    } finally {
      stopListening();
      this.#notices?.stop();
      this.#hold.end();
    }
  }

  async #waitForTurn(): Promise<Turn> {
    const { metrics } = this.#services;
    const { exchange } = this.#state;
    this.#isServed = false;
    metrics.held.inc();
    const turn = await inSpan(exchange.span, 'wait for a replica', () => this.#hold.wait());
    metrics.held.dec();
    const isTurn = typeof turn !== 'string';
    metrics.holdTime.observe(isTurn ? 'served' : turn, exchange.elapsed() / 1_000);
    if (!isTurn) {
      exchange.check();
      throw await this.#explainEnd(turn);
    }
    this.#isServed = true;
    return turn;
  }

  /** False: it has to wait again. */
  async #serveTurn(turn: Turn): Promise<boolean> {
    const { exchange } = this.#state;
    const { addresses } = turn;
    exchange.sendContinue();
    const body = this.#body.raw ?? undefined;
    const { adapter } = this.#state.deployment.config;
    const request = {
      exchange,
      addresses,
      port: adapter?.port,
      body,
      ownHeaders: body && this.#buildOwnHeaders(),
    };
    const answer = new HeldAnswer({
      exchange,
      isRepeatable: this.#body.raw !== null,
      onPass: () => this.#settle(),
    });
    let isRefused = false;
    try {
      const outcome = await proxyRequest(this.#services.proxy, { ...request, answer });
      exchange.check();
      if (answer.failure) throw answer.failure;
      if (outcome === 'lost')
        throw new ApiError('upstream_error', 'The replica closed the connection without a response.');
      this.#saturation = answer.saturation;
      isRefused = outcome === 'none' || answer.saturation !== null;
      return !isRefused;
    } finally {
      turn.leave({ isRefused });
    }
  }

  #describeWait(): string {
    if (this.#isServed) return 'waiting for the response';
    const waited = Math.round(this.#state.exchange.elapsed() / 1_000);
    const left = this.#services.starts.leftSeconds(this.#state.deployment.config);
    if (left === undefined) return `waiting for a replica (${waited} s)`;
    return left > 0
      ? `waiting for a replica (${waited} s of about ${waited + left} s)`
      : `waiting for a replica (${waited} s, longer than expected)`;
  }

  /** The request is resent if the replica has no slot, so the replica must not count it. */
  #buildOwnHeaders(): Record<string, string> {
    const { config } = this.#state.deployment;
    return { [HELD_HEADER]: heldToken(this.#services.peerToken(config)) };
  }

  /** The response has started: the wait is over, and the replica counts the request. */
  #settle(): void {
    this.#uncount();
    this.#notices?.stop();
    this.#hold.end();
    (this.#state as Partial<HeldState>).keyHash = undefined;
  }

  async #explainEnd(reason: HoldEnd): Promise<ApiError> {
    if (reason === 'closing')
      return refuseAsUnavailable('frontStopping', 'The gateway is shutting down: send the request again.');
    if (reason === 'gone') return refuse(this.#services, this.#state);
    if (this.#saturation?.code === 'replica_saturated') return this.#saturation;
    this.#services.replicaDemand.refuse(this.#state.deployment.config);
    return refuse(this.#services, this.#state);
  }
}
