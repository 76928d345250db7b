/** Listens on channels of Redis, through reconnects and floods. */
import { connectRedis, type RedisConnection, type RedisSettings, type RedisState } from './client.ts';

export interface Subscription {
  readonly state: RedisState;
  close(): Promise<void>;
}

export interface SubscriptionListener {
  onMessage: (message: string, channel: string) => void;
  /** After every subscription, including the first: earlier messages may have been lost, so reload. */
  onResume: () => void;
}

const SUBSCRIBER_PING_MS = 5000;
const RESUBSCRIBE_MS = 1000;

/**
 * Listens on channels (patterns with `*`), also after every reconnect, and after a pause if flooded: over a
 * connection of its own if settings are given, else over one that also sends commands, which RESP3 allows.
 */
export function subscribe(
  place: RedisSettings | RedisConnection,
  channels: readonly string[],
  listener: SubscriptionListener,
  limits: FloodLimits = FLOOD_LIMITS,
): Subscription {
  const isShared = 'redis' in place;
  const connection = isShared ? place : connectRedis({ ...place, name: `${place.name}-subscriber` });
  const { redis } = connection;
  const patterns = channels.filter((channel) => channel.includes('*'));
  const exact = channels.filter((channel) => !channel.includes('*'));
  let retry: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;
  const exceedsLimits = createFloodGauge(limits);
  let isPaused = false;
  const receive = (message: string, channel: string) => {
    // Messages of the last chunk are still emitted after the disconnect.
    if (isPaused) return;
    if (!exceedsLimits(message)) return listener.onMessage(message, channel);
    isPaused = true;
    if (isShared) return void pauseFor(limits.pauseMs);
    redis.once('end', () => {
      pause = setTimeout(() => {
        isPaused = false;
        redis.connect().catch(() => {});
      }, limits.pauseMs);
    });
    redis.disconnect();
  };
  /** Commands of a shared connection continue. */
  const pauseFor = async (pauseMs: number) => {
    await Promise.all([
      exact.length > 0 && redis.unsubscribe(...exact),
      patterns.length > 0 && redis.punsubscribe(...patterns),
    ]).catch(() => {});
    pause = setTimeout(() => {
      isPaused = false;
      if (redis.status === 'ready') start();
    }, pauseMs);
  };
  const start = () => {
    clearTimeout(retry);
    Promise.all([
      exact.length > 0 && redis.subscribe(...exact),
      patterns.length > 0 && redis.psubscribe(...patterns),
    ]).then(
      () => listener.onResume(),
      () => {
        // A refusal leaves the connection open, so nothing else would retry.
        retry = setTimeout(() => redis.status === 'ready' && start(), RESUBSCRIBE_MS);
      },
    );
  };
  redis.on('message', (channel: string, message: string) => receive(message, channel));
  redis.on('pmessage', (_: string, channel: string, message: string) => receive(message, channel));
  const stopListening = connection.onStateChange((state) => {
    if (state === 'up') start();
  });
  if (connection.state === 'up') start();
  // A listening socket never writes, so it would not notice a silently lost peer.
  const ping = isShared ? undefined : setInterval(() => redis.ping().catch(() => {}), SUBSCRIBER_PING_MS);
  ping?.unref();
  return {
    get state() {
      return connection.state;
    },
    close: () => {
      clearInterval(ping);
      clearTimeout(retry);
      clearTimeout(pause);
      stopListening();
      return isShared ? Promise.resolve() : connection.close();
    },
  };
}

/** Limits of usual traffic; a workspace's Redis user may publish any number of messages, and long ones. */
export interface FloodLimits {
  messagesPerSecond: number;
  bytesPerSecond: number;
  /** How long a flooded subscription pauses; listeners poll meanwhile. */
  pauseMs: number;
}

export const FLOOD_LIMITS: FloodLimits = {
  messagesPerSecond: 5_000,
  bytesPerSecond: 8 * 1024 * 1024,
  pauseMs: 10_000,
};

/** Detects floods: returns whether a message exceeds the limits of this second. */
export function createFloodGauge({
  messagesPerSecond,
  bytesPerSecond,
}: FloodLimits): (message: string) => boolean {
  let since = 0;
  let messages = 0;
  let bytes = 0;
  return (message) => {
    if (performance.now() - since > 1_000) {
      since = performance.now();
      messages = 0;
      bytes = 0;
    }
    messages++;
    bytes += message.length;
    return messages > messagesPerSecond || bytes > bytesPerSecond;
  };
}
