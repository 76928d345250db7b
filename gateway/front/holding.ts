/** Holds one request until a replica has answered it (docs/api.md, "Cold starts"). */
import { describeUnavailability } from '../http/availability.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { openLease, readJsonBody } from '../http/json-body.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { ColdStarts } from './cold-starts.ts';
import type { Hold, HoldEnd, Turn } from './demand/hold-lines.ts';
import { HoldNotices } from './demand/hold-notices.ts';
import { readPreferredWait } from './demand/prefer.ts';
import type { KnownDeployment } from './directory.ts';
import { HeldAnswer } from './held-answer.ts';
import { formatBreak, type ProxyOptions, proxyRequest } from './proxy.ts';

export interface HoldingServices extends ColdStarts {
  proxy: ProxyOptions;
  metrics: Pick<GatewayMetrics, 'held' | 'holdTime'>;
}

export interface HeldState extends GatewayState {
  deployment: KnownDeployment;
}

/** Larger ones are left in their socket: whether they want a stream is not known then, and they cannot be sent twice. */
const MAX_READ_BODY_BYTES = 1024 * 1024;
/** What the socket of a request whose body is not read may hold of it. */
const SOCKET_BYTES = 64 * 1024;
const STREAMED = new Set(['chat_completions', 'completions', 'responses', 'messages']);
const CLOSING_RETRY_SECONDS = 1;
const GONE_RETRY_SECONDS = 30;

interface HeldBody {
  /** null: it was not read. */
  raw: Buffer | null;
  isStream: boolean;
}

/** Throws ApiError where no replica came in time, or there is no room to wait. */
export async function holdRequest(services: HoldingServices, state: HeldState): Promise<void> {
  const { exchange, deployment } = state;
  const { lines, wants, metrics } = services;
  const { config } = deployment;
  exchange.res.shouldKeepAlive = false;
  const limitMs = decideHold(state);
  const body = limitMs > 0 ? await readBody(state) : { raw: null, isStream: false };
  const hold =
    body &&
    lines.enter(config, {
      bytes: body.raw?.length ?? SOCKET_BYTES,
      patienceMs: limitMs - exchange.elapsed(),
    });
  if (!hold) {
    metrics.holdTime.observe('overflow', 0);
    wants.refuse(config);
    throw refuse(services, state);
  }
  const run = new HeldRequest(services, state, { body, hold });
  await run.serve();
}

/** Milliseconds from the request's arrival; 0 and less: it does not wait. */
function decideHold({ exchange, deployment }: HeldState): number {
  const { scaling, limits } = deployment.config;
  const preferred = readPreferredWait(exchange.req.headers.prefer);
  if (preferred !== null) exchange.res.setHeader('preference-applied', `wait=${preferred}`);
  return Math.min(
    scaling!.holdForMs,
    limits.requestTimeoutMs,
    (preferred ?? Number.POSITIVE_INFINITY) * 1_000,
  );
}

/** null where there is no memory for it. */
async function readBody(state: HeldState): Promise<HeldBody | null> {
  const { headers } = state.exchange.req;
  const isForm = /^\s*multipart\//i.test(headers['content-type'] ?? '');
  const length = Number(headers['content-length'] ?? Number.NaN);
  if (!isForm && length <= MAX_READ_BODY_BYTES)
    return readJsonBody(state, {
      limits: state.deployment.config.limits,
      interpret: ({ raw, value }) => ({
        raw,
        isStream: value.stream === true && STREAMED.has(state.route.name),
      }),
      isKept: true,
    });
  return openLease(state).tryAdd(SOCKET_BYTES) ? { raw: null, isStream: false } : null;
}

function refuse({ starts }: HoldingServices, { deployment }: HeldState): ApiError {
  const { message, ...details } = describeUnavailability(
    deployment.config,
    starts.estimateSeconds(deployment.config),
  );
  return new ApiError('no_pod_available', message, details);
}

class HeldRequest {
  readonly #services: HoldingServices;
  readonly #state: HeldState;
  readonly #body: HeldBody;
  readonly #hold: Hold;
  readonly #notices: HoldNotices | null;
  /** What the last replica said that had no place. */
  #saturation: ApiError | null = null;

  constructor(services: HoldingServices, state: HeldState, { body, hold }: { body: HeldBody; hold: Hold }) {
    const { exchange, deployment } = state;
    this.#services = services;
    this.#state = state;
    this.#body = body;
    this.#hold = hold;
    const leftSeconds = () => services.starts.leftSeconds(deployment.config);
    this.#notices = body.isStream ? new HoldNotices({ exchange, leftSeconds }) : null;
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
    if (this.#notices) this.#notices.isServed = false;
    metrics.held.inc();
    const turn = await this.#hold.wait();
    metrics.held.dec();
    const isTurn = typeof turn !== 'string';
    metrics.holdTime.observe(isTurn ? 'served' : turn, exchange.elapsed() / 1_000);
    if (!isTurn) {
      exchange.check();
      throw this.#explainEnd(turn);
    }
    if (this.#notices) this.#notices.isServed = true;
    return turn;
  }

  /** False: it has to wait again. */
  async #serveTurn(turn: Turn): Promise<boolean> {
    const { exchange } = this.#state;
    const { req, res, requestId } = exchange;
    const request = { req, res, addresses: turn.addresses, requestId, body: this.#body.raw ?? undefined };
    const answer = new HeldAnswer({
      exchange,
      isRepeatable: this.#body.raw !== null,
      onPass: () => this.#settle(),
      describeBreak: (headers) => formatBreak(headers, request),
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

  /** The answer is on its way: nothing is waited for any more, and the replica counts the request. */
  #settle(): void {
    this.#notices?.stop();
    this.#hold.end();
    (this.#state as Partial<HeldState>).keyHash = undefined;
  }

  #explainEnd(reason: HoldEnd): ApiError {
    if (reason === 'closing')
      return new ApiError('no_pod_available', 'The gateway is shutting down: send the request again.', {
        retryAfter: CLOSING_RETRY_SECONDS,
      });
    if (reason === 'gone')
      return new ApiError('no_pod_available', 'The deployment is paused or being deleted.', {
        retryAfter: GONE_RETRY_SECONDS,
        isFinal: true,
      });
    if (this.#saturation) return this.#saturation;
    this.#services.wants.refuse(this.#state.deployment.config);
    return refuse(this.#services, this.#state);
  }
}
