import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { listen } from '../../../kit/http-server.ts';
import { connectRedis, isRedisAway, type RedisConnection, type RedisState } from '../../../redis/client.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';

const TIMEOUT_MS = 500;
const REPLIES: Record<string, string> = {
  hello: '%1\r\n+server\r\n+redis\r\n',
  ping: '+PONG\r\n',
};

describe('a command that Redis does not answer in time', () => {
  let server: Server;
  let connection: RedisConnection;
  const states: RedisState[] = [];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    // Answers each command at once, but none of ECHO.
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.setEncoding('latin1').on('data', (text: string) => {
        for (const [, name] of text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
          if (!/^echo$/i.test(name!)) socket.write(REPLIES[name!.toLowerCase()] ?? '+OK\r\n');
      });
    });
    const port = await listen(server as never, 0, '127.0.0.1');
    connection = connectRedis({
      url: `redis://127.0.0.1:${port}`,
      name: 'test',
      role: 'sidecar',
      commandTimeoutMs: TIMEOUT_MS,
    });
    await connection.untilUp(60_000);
    states.length = 0;
    connection.onStateChange((state) => states.push(state));
  });
  afterEach(async () => {
    await connection.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  it('closes a connection that is silent', async () => {
    const { redis } = connection;
    const error = await rejection(redis.echo('x'));
    expect(isRedisAway(error), String(error)).to.equal(true);
    await pollUntil(async () => states.length === 2, 'another connection');
    expect(states).to.deep.equal(['away', 'up']);
  });

  it('leaves a connection open on which replies arrive', async () => {
    const { redis } = connection;
    const [reply, error] = await Promise.all([redis.ping(), rejection(redis.echo('x'))]);
    expect(reply).to.equal('PONG');
    expect(isRedisAway(error), String(error)).to.equal(true);
    for (const socket of sockets) socket.write('$1\r\nx\r\n');
    expect(await redis.ping()).to.equal('PONG');
    expect(states).to.deep.equal([]);
  });
});
