import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { request } from 'undici';
import { z } from 'zod';
import { openLog } from '../../../kit/log.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const PROMPT = 'a castle in the rain';
const KEY = 'sk-live-0123456789abcdef';
const PASSWORD = 'hunter2hunter2';
const ACCESS_KEY = 'AKIAIOSFODNN7EXAMPLE';

/** The line that a program would write. */
function log(fields: object): string {
  let text = '';
  const write = (line: string) => {
    text += line;
  };
  openLog({ level: 'info', base: {}, write }).error(fields, 'a fault');
  for (const secret of [PROMPT, KEY, PASSWORD, ACCESS_KEY]) expect(text).not.to.contain(secret);
  return text;
}

describe('the log of a program', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let store: Server;
  let origin: string;
  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    store = createServer((_, response) => {
      response.statusCode = 403;
      response.end(
        `<Error><Code>InvalidAccessKeyId</Code><Message>no ${ACCESS_KEY}</Message><AWSAccessKeyId>${ACCESS_KEY}</AWSAccessKeyId></Error>`,
      );
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  });
  after(async () => {
    store?.close();
    await connection?.close();
    await server?.stop();
  });

  it('says what Redis rejected, without the arguments', async () => {
    const { redis } = connection;
    await redis.set('text', 'x');
    const wrongType = await rejection(redis.rpush('text', PROMPT, KEY));
    expect(log({ err: wrongType })).to.match(/WRONGTYPE/);
    expect(log({ err: await rejection(redis.call('nonsense', PROMPT, KEY)) })).to.match(/unknown command/);
    expect(log({ err: await rejection(redis.call('auth', 'nobody', PASSWORD)) })).to.match(/WRONGPASS/);
    expect(log({ err: await rejection(redis.fcall('nothing', 1, PROMPT, KEY)) })).to.match(/ERR/);
    expect(log({ reason: (wrongType as Error).message })).to.match(/WRONGTYPE/);
  });

  it('says which call failed, without its headers and query', async () => {
    const refused = await rejection(
      request(`http://127.0.0.1:1/x?token=${KEY}`, { headers: { authorization: `Bearer ${KEY}` } }),
    );
    expect(log({ err: refused })).to.match(/ECONNREFUSED/);
    const credentials = await rejection(fetch(`http://user:${PASSWORD}@127.0.0.1:1/x`));
    expect(log({ err: credentials })).to.match(/credentials/);
    expect(log({ reason: `Authorization: Bearer ${KEY} at redis://user:${PASSWORD}@host` })).to.match(/…/);
  });

  it('says what a store rejected, without the key', async () => {
    const client = new S3Client({
      endpoint: origin,
      region: 'any',
      forcePathStyle: true,
      credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: PASSWORD },
      maxAttempts: 1,
    });
    const refused = await rejection(client.send(new GetObjectCommand({ Bucket: 'b', Key: 'k' })));
    const line = log({ err: refused });
    expect(line).to.match(/InvalidAccessKeyId/);
    expect(line).to.match(/"status":403/);
  });

  it('says where an object is invalid, without its content', async () => {
    const schema = z.object({
      prompt: z.string().refine(() => false, { error: (issue) => `${issue.input}` }),
    });
    expect(log({ err: schema.safeParse({ prompt: PROMPT }).error })).to.match(/"message":"prompt: custom"/);
    const { error } = z.strictObject({}).safeParse({ [PROMPT]: 1 });
    expect(log({ err: error })).to.match(/unrecognized_keys/);
    const syntax = await rejection(Promise.resolve().then(() => JSON.parse(`{"a":${PROMPT}`)));
    expect(log({ err: syntax })).to.match(/not valid JSON/);
  });

  it('redacts causes as well, and omits what is not an error', () => {
    const cause = Object.assign(new Error(`at https://user:${PASSWORD}@host`), {
      command: { args: [PROMPT] },
    });
    expect(log({ err: new Error('outer', { cause }) })).to.match(/"cause":\{"type":"Error"/);
    expect(log({ err: { prompt: PROMPT } })).to.match(/"type":"object"/);
    expect(log({ err: new Error(`${PROMPT.slice(0, 3)}\n    at a place`) })).to.match(/log\.test/);
  });
});
