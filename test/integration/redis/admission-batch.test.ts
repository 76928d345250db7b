import { expect } from 'chai';
import { configKeys } from '../../../api/redis-keys.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { publishApiKey } from '../../support/publication.ts';
import { rejection } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('admissions of one turn', () => {
  let stack: TestStack;
  const ask = (namespace: string, sha256: string) =>
    admit(stack.redis, { namespace, sha256, counted: 'all' });
  const shaOf = (index: number) => String(index).padStart(4, '0').repeat(16);

  before(async () => {
    stack = await TestStack.start();
    for (let index = 0; index < 5; index++)
      for (const namespace of ['one', 'two'])
        await publishApiKey(stack.redis, namespace, shaOf(index), {
          n: `${namespace}-${index}`,
          rpm: 1000,
          tpd: 1000 + index,
          exp: 0,
          off: 0,
        });
  });
  after(async () => {
    await stack?.stop();
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

  it('go in as few commands as there are namespaces, but for the first', async () => {
    const countCalls = async () =>
      Number(/cmdstat_fcall:calls=(\d+)/.exec(await stack.redis.info('commandstats'))![1]);
    const before = await countCalls();
    await Promise.all(Array.from({ length: 50 }, (_, index) => ask(index % 2 ? 'two' : 'one', shaOf(0))));
    expect((await countCalls()) - before).to.equal(3);
  });

  it('do not suffer from what is wrong with another’s key', async () => {
    await stack.redis.hset(configKeys('one').apiKeys, shaOf(9), 'no JSON');
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
