import { expect } from 'chai';
import { configKeys } from '../../../api/redis-keys.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishApiKey } from '../../support/publication.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('admissions of one turn', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const ask = (namespace: string, sha256: string) =>
    admit(connection.redis, { namespace, sha256, counted: 'all' });
  const shaOf = (index: number) => String(index).padStart(4, '0').repeat(16);

  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
    for (let index = 0; index < 5; index++)
      for (const namespace of ['one', 'two'])
        await publishApiKey(connection.redis, namespace, shaOf(index), {
          n: `${namespace}-${index}`,
          rpm: 1000,
          tpd: 1000 + index,
          exp: 0,
          off: 0,
        });
  });
  after(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('each get their own answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) => ask(index % 2 ? 'two' : 'one', shaOf(index % 5))),
    );
    for (const [index, answer] of answers.entries()) {
      expect(answer.verdict).to.equal('ok');
      expect(answer.keyName).to.equal(`${index % 2 ? 'two' : 'one'}-${index % 5}`);
      expect(answer.tpd.limit).to.equal(1000 + (index % 5));
    }
    const remaining = answers.filter((_, index) => index % 10 === 0).map(({ rpm }) => rpm.remaining);
    expect(remaining).to.deep.equal(Array.from({ length: 30 }, (_, index) => 999 - index));
  });

  it('go in as few commands as there are namespaces', async () => {
    const countCalls = async () =>
      Number(/cmdstat_fcall:calls=(\d+)/.exec(await connection.redis.info('commandstats'))![1]);
    const before = await countCalls();
    await Promise.all(Array.from({ length: 50 }, (_, index) => ask(index % 2 ? 'two' : 'one', shaOf(0))));
    expect((await countCalls()) - before).to.equal(2);
  });

  it('do not suffer from what is wrong with another’s key', async () => {
    await connection.redis.hset(configKeys('one').apiKeys, shaOf(9), 'no JSON');
    const [good, bad, unknown] = await Promise.all([
      ask('one', shaOf(1)),
      rejection(ask('one', shaOf(9))),
      ask('one', shaOf(8)),
    ]);
    expect(good!.verdict).to.equal('ok');
    expect(bad).to.be.instanceOf(Error);
    expect(unknown!.verdict).to.equal('unknown_key');
  });
});
