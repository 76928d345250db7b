/** Replicas of one deployment, each with an engine and an address of its own, and a valid key. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { hashApiKey } from '../../api/identity.ts';
import type { PublishedKey } from '../../api/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import { callChat } from './chat.ts';
import { findFreePort } from './child-program.ts';
import { readHeartbeats } from './heartbeats.ts';
import { API_KEY, type Engine, type ModelReplica, startEngine, startReplica } from './model-replica.ts';
import { pollUntil } from './poll.ts';
import { publishApiKey } from './publication.ts';
import { TestStack } from './test-stack.ts';

/** A key whose limits no test reaches. */
const TEST_KEY: PublishedKey = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 };

/** Publishes a deployment like the operator, with `API_KEY` for its workspace. */
export async function publishModel(
  redis: RedisClient,
  config: GatewayConfig,
  key: Partial<PublishedKey> = {},
): Promise<void> {
  await publishDeployment(redis, config);
  await publishApiKey(redis, config.namespace, hashApiKey(API_KEY), { ...TEST_KEY, ...key });
}

export interface ReplicaStackOptions {
  /** Started for each test instead of once for the whole block. */
  isPerTest?: boolean;
  startEngine?: (address: string) => Promise<Engine>;
  /** The gateway's program; bundled by default. */
  script?: string;
  /** Variables of the replicas. */
  env?: Record<string, string>;
}

export interface ReplicaStack {
  readonly redis: RedisClient;
  readonly redisURL: string;
  /** By address, like the replicas; a restarted one takes its place. */
  readonly engines: Engine[];
  readonly replicas: ModelReplica[];
  readHeartbeats(): ReturnType<typeof readHeartbeats>;
  /** How many requests each engine has received. */
  countRequests(): Promise<number[]>;
  /** Changes settings through the control ports of all engines. */
  control(settings: Record<string, unknown>): Promise<void>;
  /** Resolves once `count` are ready and idle, and each has read the others' heartbeats since. Sends a request to each. */
  untilPeersKnown(count?: number): Promise<void>;
  /** Restarts a stopped replica at its address; resolves once it is ready. */
  restart(index: number): Promise<void>;
}

/** Starts them before the tests of the calling block, and stops them afterwards. */
export function useReplicas(
  config: GatewayConfig,
  addresses: string[],
  options: ReplicaStackOptions = {},
): ReplicaStack {
  const startEngineAt = options.startEngine ?? (() => startEngine());
  const engines: Engine[] = [];
  const replicas: ModelReplica[] = [];
  let stack: TestStack | undefined;
  let port: number;
  const start = async (index: number) => {
    const replica = await startReplica({
      redisURL: stack!.server.url,
      engineURL: engines[index]!.url,
      config,
      address: addresses[index]!,
      port,
      script: options.script,
      env: options.env,
    });
    replicas[index] = replica;
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  };

  const beats = () => readHeartbeats(stack!.redis, config.namespace, config.name);
  const untilPeersKnown = async (count = addresses.length) => {
    await pollUntil(async () => {
      const all = await beats();
      return all.length === count && all.every(({ ready, inflight }) => ready && inflight === 0);
    }, 'all replicas to be ready and idle');
    // A replica reads others' heartbeats with its own next one.
    const last = Math.max(...(await beats()).map(({ at }) => at));
    await Promise.all(replicas.map(({ url }) => callChat(url).catch(() => {})));
    await pollUntil(
      async () => (await beats()).every(({ at, inflight }) => at > last && inflight === 0),
      'a heartbeat of each',
    );
  };

  const [begin, end] = options.isPerTest ? [beforeEach, afterEach] : [before, after];
  begin(async () => {
    stack = await TestStack.start();
    await publishModel(stack.redis, config);
    engines.push(...(await Promise.all(addresses.map(startEngineAt))));
    port = await findFreePort(addresses);
    await Promise.all(addresses.map((_, index) => start(index)));
  });
  end(async () => {
    await Promise.all([...replicas, ...engines].map((part) => part.stop('SIGKILL')));
    replicas.length = 0;
    engines.length = 0;
    await stack?.stop();
  });

  return {
    get redis() {
      return stack!.redis;
    },
    get redisURL() {
      return stack!.server.url;
    },
    engines,
    replicas,
    readHeartbeats: beats,
    untilPeersKnown,
    countRequests: async () =>
      (await Promise.all(engines.map((engine) => engine.read()))).map(({ requests }) => requests),
    control: async (settings) => {
      await Promise.all(engines.map((engine) => engine.control(settings)));
    },
    restart: start,
  };
}
