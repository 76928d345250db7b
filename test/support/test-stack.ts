/** What most integration tests start with: a Redis with Berth's functions, and an administrator's connection to it. */
import type { RedisClient, RedisConnection, RedisSettings } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { connectTo } from './redis-client.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts';

export class TestStack {
  readonly server: RedisServer;
  readonly connection: RedisConnection;

  private constructor(server: RedisServer, connection: RedisConnection) {
    this.server = server;
    this.connection = connection;
  }

  /** `settings`: of the connection. */
  static async start(
    options: RedisServerOptions = {},
    settings: Partial<RedisSettings> = {},
  ): Promise<TestStack> {
    const server = await startRedis(options);
    const connection = await connectTo(server, settings);
    await loadLibrary(connection.redis);
    return new TestStack(server, connection);
  }

  get redis(): RedisClient {
    return this.connection.redis;
  }

  async stop(): Promise<void> {
    await this.connection.close();
    await this.server.stop();
  }
}
