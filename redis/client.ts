/** The owner of ioredis: connections that fail fast while Redis is down and reconnect automatically. */
import type { Duplex } from 'node:stream';
import { type ChainableCommander, Command, Redis, type RedisOptions } from 'ioredis';
import { readConnectionFailure } from '../kit/connection-error.ts';
import { backoffDelay } from '../kit/retry.ts';
import { parseRedisAddress } from './address.ts';
import { buildTLSOptions, explainTLSError } from './tls.ts';

/** The client type for this folder's functions; other folders use this type, never ioredis. */
export type RedisClient = Redis;
export type RedisRole = 'operator' | 'front' | 'sidecar' | 'console';
export type RedisState = 'up' | 'away';

export interface RedisSettings {
  /** See `parseRedisAddress`; the two below override its credentials. */
  url: string;
  username?: string;
  password?: string;
  sentinelPassword?: string;
  /** PEM file of the authorities to trust with rediss://, read at each connect; the system's if there is none. */
  caFile?: string | undefined;
  /** Name of the connection in CLIENT LIST. */
  name: string;
  /** A sidecar's user may not call INFO, so it connects without the ready check. */
  role: RedisRole;
  /** Milliseconds that a command waits for its reply; 1000. */
  commandTimeoutMs?: number;
  /** Interval of pings, since Redis closes idle connections; 30 s. */
  pingMs?: number;
}

export interface RedisConnection {
  readonly redis: RedisClient;
  readonly state: RedisState;
  /** Why it is down; undefined while it is up, or unknown. */
  readonly reason: string | undefined;
  /** Calls the listener with every change, and the reason of an outage; returns the unsubscribe function. */
  onStateChange(listener: (state: RedisState, reason: string) => void): () => void;
  /** Resolves once connected; throws with the last reason after `timeoutMs`. */
  untilUp(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 1000;
const CONNECT_TIMEOUT_MS = 2000;
/** When thousands reconnect at once, handshakes take long. */
const TLS_CONNECT_TIMEOUT_MS = 5000;
const RECONNECT_BACKOFF = { baseMs: 100, maxMs: 1000 };
/** Far below the idle timeout of the bundled Redis and of load balancers. */
const PING_MS = 30_000;

/** Sends a command at once; others wait for the end of the turn to share a write. */
export const sendNow = (redis: RedisClient, name: string, args: (string | number)[]): Promise<unknown> =>
  redis.sendCommand(new Command(name, args, { replyEncoding: 'utf8' })) as Promise<unknown>;

/** For commands that scan a lot of data. */
const SLOW_TIMEOUT_MS = 30_000;

/** Sends a command that may take longer than others; `replyEncoding: null` returns bytes that are not UTF-8 unchanged. */
export function sendSlowCommand(
  redis: RedisClient,
  name: string,
  args: (string | number | Buffer)[],
  replyEncoding: 'utf8' | null = 'utf8',
): Promise<unknown> {
  const command = new Command(name, args, { replyEncoding });
  // The client sets its own timeout only if there is none.
  command.setTimeout(SLOW_TIMEOUT_MS);
  return redis.sendCommand(command) as Promise<unknown>;
}

/** Sends a pipeline or a transaction; returns its replies, or throws the first error among them. */
export async function execute(batch: ChainableCommander): Promise<unknown[]> {
  const replies = (await batch.exec()) ?? [];
  return replies.map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

/** Starts to connect and returns at once: programs start, and keep running, while Redis is down. */
export function connectRedis(settings: RedisSettings): RedisConnection {
  const redis = new PatientRedis(buildOptions(settings));
  const listeners = new Set<(state: RedisState, reason: string) => void>();
  let state: RedisState = 'away';
  let reason: string | undefined;
  const describeReason = () => reason ?? 'not connected yet';
  const change = (next: RedisState) => {
    if (state === next) return;
    state = next;
    for (const listener of listeners) listener(next, next === 'up' ? '' : describeReason());
  };
  redis.on('error', (error: Error) => {
    reason = explainTLSError(error, settings) ?? describeError(error);
  });
  redis.on('ready', () => {
    if (settings.role !== 'sidecar') keepFromEviction(redis);
    reason = 'connection closed';
    change('up');
  });
  redis.on('close', () => change('away'));
  const ping = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => {});
  }, settings.pingMs ?? PING_MS);
  ping.unref();

  const onStateChange: RedisConnection['onStateChange'] = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    redis,
    get state() {
      return state;
    },
    get reason() {
      return state === 'up' ? undefined : reason;
    },
    onStateChange,
    untilUp: (timeoutMs) =>
      new Promise((resolve, reject) => {
        if (state === 'up') return resolve();
        const stop = onStateChange((next) => {
          if (next !== 'up') return;
          clearTimeout(timer);
          stop();
          resolve();
        });
        const timer = setTimeout(() => {
          stop();
          reject(new Error(`Redis did not answer within ${timeoutMs} ms: ${describeReason()}`));
        }, timeoutMs);
      }),
    close: async () => {
      clearInterval(ping);
      if (redis.status === 'ready') await redis.quit().catch(() => {});
      redis.disconnect();
    },
  };
}

/**
 * When clients hold more than `maxmemory-clients`, Redis closes the largest first: not this one, even if thousands connect that
 * have no user. A user without permission for this is served anyway.
 */
function keepFromEviction(redis: RedisClient): void {
  redis.client('NO-EVICT', 'ON').catch(() => {});
}

interface Connector {
  connect(emit: (type: string, error: Error) => void): Promise<Duplex>;
  /** A Sentinel's only. */
  connectToSentinel?(endpoint: unknown, options?: RedisOptions): Redis;
}

/**
 * ioredis listens for one error of a socket. A server answers with an alert when its certificate is refused, which is a second one: it would
 * end the program.
 */
const ignore = (): void => {};

/** Also holds for the clients that it opens to Sentinels. Before it connects. */
function outliveErrors(redis: Redis): void {
  // biome-ignore lint/complexity/useLiteralKeys: TypeScript lets only this form read a private member
  const connector = redis['connector'] as Connector;
  const { connect, connectToSentinel } = connector;
  connector.connect = async (emit) => (await connect.call(connector, emit)).on('error', ignore);
  if (!connectToSentinel) return;
  connector.connectToSentinel = (endpoint, options) => {
    const client = connectToSentinel.call(connector, endpoint, { ...options, lazyConnect: true });
    outliveErrors(client);
    return client;
  };
}

/**
 * Its time-outs count no reply as missing that came in while this process stood still. Node runs timers before it reads what has
 * come in, so ioredis' own would fail commands that Redis has served, and its `socketTimeout` close the connection of a busy process.
 */
class PatientRedis extends Redis {
  constructor(options: ConnectionOptions) {
    super({ ...options, lazyConnect: true });
    outliveErrors(this);
    this.connect().catch(ignore);
  }

  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    const { commandTimeout } = this.options;
    // ioredis starts no timer beside this one, and clears it with the command.
    if (commandTimeout !== undefined)
      // biome-ignore lint/complexity/useLiteralKeys: TypeScript lets only this form read a private member
      command['_commandTimeoutTimer'] ??= setTimeout(
        expire,
        commandTimeout,
        this,
        command,
        this.stream?.bytesRead,
      );
    return super.sendCommand(command, stream);
  }
}

/**
 * Reads what has come in first. Closes a socket that is silent since the command, so that those queued behind it fail with it; a
 * Redis that is only slow is not connected to again by all at once.
 */
function expire(redis: Redis, command: Command, bytesBefore: number | undefined): void {
  setImmediate(() => {
    if (command.isSettled) return;
    command.reject(new Error('Command timed out'));
    if (redis.stream?.bytesRead === bytesBefore)
      redis.stream?.destroy(new Error('Redis did not answer in time'));
  });
}

const AWAY_REPLIES =
  /^(WRONGPASS|NOAUTH|NOPERM|LOADING|READONLY|MASTERDOWN|MISCONF|OOM|BUSY|NOREPLICAS|CLUSTERDOWN|TRYAGAIN)\b|^ERR (Function not found|max number of clients|ACL failure in script)|can't (run|access) this|can't access at least one/;
const AWAY_CONNECTIONS =
  /^(Connection is closed|Stream isn't writeable|Command timed out|Command aborted due to connection|Redis did not answer in time|Reached the max retries|All sentinels are unreachable|connect ETIMEDOUT)/;

/**
 * Whether a call failed because Redis is unavailable now: unreachable, slow, loading, a replica, out of memory,
 * refusing this user, or not yet given the functions. Any other error is a bug.
 */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MaxRetriesPerRequestError') return true;
  if (readConnectionFailure(error) !== null) return true;
  if ('previousErrors' in error && Array.isArray(error.previousErrors)) {
    return error.previousErrors.some(isRedisAway);
  }
  return AWAY_REPLIES.test(error.message) || AWAY_CONNECTIONS.test(error.message);
}

/** The message of an error, without what ioredis attaches: the failed command, possibly with a password. */
function describeError(error: Error): string {
  if ('command' in error) delete error.command;
  return error.message || String('code' in error ? error.code : error.name);
}

/** Options with the default mapping of replies. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

function buildOptions(settings: RedisSettings): ConnectionOptions {
  const address = parseRedisAddress(settings.url);
  const timeout = settings.commandTimeoutMs ?? COMMAND_TIMEOUT_MS;
  const username = settings.username ?? address.username ?? undefined;
  const password = settings.password ?? address.password ?? undefined;
  const tls = address.tls
    ? buildTLSOptions({ caFile: settings.caFile, serverName: address.serverName ?? undefined })
    : undefined;
  const [first] = address.hosts;
  const server: ConnectionOptions =
    address.masterName === null
      ? { host: first!.host, port: first!.port, tls }
      : {
          sentinels: address.hosts,
          name: address.masterName,
          sentinelPassword: settings.sentinelPassword,
          // Otherwise writes to the old master until it is demoted, some 10 s, are lost.
          failoverDetector: true,
          ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
        };
  return {
    ...server,
    db: address.db,
    // One connection may listen and send commands.
    protocol: 3,
    username,
    password,
    connectionName: `berth-${settings.role}:${settings.name}`,
    disableClientInfo: true,
    enableReadyCheck: settings.role !== 'sidecar',
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    // With any other number, commands in flight at a disconnect wait for their timeout.
    maxRetriesPerRequest: 0,
    commandTimeout: timeout,
    connectTimeout: tls ? TLS_CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
    disconnectTimeout: timeout,
    retryStrategy: (attempt) => backoffDelay(RECONNECT_BACKOFF, attempt),
    // After a failover the old master responds as a replica: find the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}
