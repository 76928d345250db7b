import { expect } from 'chai';
import { configKeys, type PublishedKey, workKeys } from '../../../api/redis-keys.ts';
import {
  type Admission,
  type AdmissionVerdict,
  admit,
  settle,
  uncount,
  uncountWaiting,
} from '../../../redis/admission/admission-calls.ts';
import { readKeyUsage } from '../../../redis/console/console-reads.ts';
import { publishSessionKey } from '../../../redis/console/console-sessions.ts';
import { publishApiKeys, publishWorkspace } from '../../../redis/publication/publication.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { TestStack } from '../../support/test-stack.ts';

const PAST = 1_600_000_000;
const FUTURE = 4_000_000_000;

describe('admission', () => {
  let stack: TestStack;
  let keys = 0;
  const namespace = 'one';
  const published = { n: 'my-key', rpm: 3, tpd: 100, exp: 0, off: 0 as 0 | 1 };

  /** A key that no other test uses. */
  async function makeKey(fields: Partial<PublishedKey> = {}): Promise<string> {
    const sha256 = String(++keys).padStart(64, '0').split('').reverse().join('');
    await publishApiKey(stack.redis, namespace, sha256, { ...published, ...fields });
    return sha256;
  }
  const count = (sha256: string): Promise<Admission> =>
    admit(stack.redis, { namespace, sha256, counted: 'all' });
  const authenticate = (sha256: string): Promise<Admission> =>
    admit(stack.redis, { namespace, sha256, counted: 'no' });
  let settlements = 0;
  const use = (sha256: string, tokens: number, micros = 0) =>
    settle(stack.redis, { namespace, sha256, tokens, micros, token: `${sha256}-${++settlements}` });

  before(async () => {
    stack = await TestStack.start();
  });
  after(async () => {
    await stack?.stop();
  });

  it('counts a request that spends nothing against its minute alone', async () => {
    const sha256 = await makeKey({ tpd: 0 });
    const ask = () => admit(stack.redis, { namespace, sha256, counted: 'requests' });
    const verdicts = [await ask(), await ask(), await ask(), await ask()].map(({ verdict }) => verdict);
    expect(verdicts).to.deep.equal(['ok', 'ok', 'ok', 'rpm']);
    expect((await count(sha256)).verdict).to.equal('tpd');
  });

  it('reports the priority of the key', async () => {
    expect((await count(await makeKey({ pri: -7 }))).priority).to.equal(-7);
    expect((await authenticate(await makeKey({ pri: 3 }))).priority).to.equal(3);
    expect((await count(await makeKey())).priority).to.equal(0);
    expect((await count('f'.repeat(64))).priority).to.equal(0);
  });

  it('takes a request out of its minute again, of another minute none', async () => {
    const sha256 = await makeKey();
    await count(sha256);
    const { rpm } = await count(sha256);
    expect(rpm.remaining).to.equal(1);
    const question = { namespace, sha256, resetAt: rpm.resetAt };
    expect(await uncount(stack.redis, question)).to.equal(true);
    expect((await authenticate(sha256)).rpm.remaining).to.equal(2);
    expect(await uncount(stack.redis, { ...question, resetAt: rpm.resetAt - 60 })).to.equal(false);
    expect(await uncount(stack.redis, question)).to.equal(true);
    expect(await uncount(stack.redis, question), 'nothing is left').to.equal(false);
    expect((await authenticate(sha256)).rpm.remaining).to.equal(3);
  });

  it('counts what waits beside what is served, and takes it out again', async () => {
    const sha256 = await makeKey();
    const wait = () => admit(stack.redis, { namespace, sha256, counted: 'waiting' });
    await count(sha256);
    const { rpm } = await wait();
    expect(rpm).to.include({ limit: 3, remaining: 1 });
    expect((await wait()).verdict).to.equal('ok');
    expect(await wait()).to.deep.include({ verdict: 'rpm' });
    // A replica counts what it serves alone.
    expect((await count(sha256)).rpm.remaining).to.equal(1);
    for (let index = 0; index < 2; index++)
      await uncountWaiting(stack.redis, { namespace, sha256, resetAt: rpm.resetAt });
    expect((await wait()).verdict).to.equal('ok');
    expect((await wait()).verdict).to.equal('rpm');
  });

  it('reads a counter that its workspace wrote as the other programs read it', async () => {
    const texts = ['7', '-7', '99999999999999', '9'.repeat(20), '1'.repeat(30), `${'0'.repeat(19)}7x`];
    for (const text of [...texts, '1e3', '0x10', '0.5', ' 7', 'inf', 'nan', 'x', '']) {
      const sha256 = await makeKey();
      const now = Date.now();
      await stack.redis.set(workKeys(namespace).tpd(sha256, Math.floor(now / 86_400_000)), text);
      const { tokensToday } = await readKeyUsage(stack.redis, { namespace, sha256, now });
      expect((await authenticate(sha256)).tpd.used, text).to.equal(tokensToday);
    }
  });

  const verdicts: [
    string,
    Partial<typeof published>,
    { counted: AdmissionVerdict; uncounted: AdmissionVerdict },
  ][] = [
    ['a good key', {}, { counted: 'ok', uncounted: 'ok' }],
    ['a key that expires later', { exp: FUTURE }, { counted: 'ok', uncounted: 'ok' }],
    ['an expired key', { exp: PAST }, { counted: 'expired', uncounted: 'expired' }],
    ['a disabled key', { off: 1 }, { counted: 'disabled', uncounted: 'disabled' }],
    ['a key whose day is used up', { tpd: 0 }, { counted: 'tpd', uncounted: 'ok' }],
    ['a key whose minute is used up', { rpm: 0 }, { counted: 'rpm', uncounted: 'ok' }],
  ];
  for (const [name, fields, expected] of verdicts) {
    it(`answers ${expected.counted} to a request with ${name}`, async () => {
      const sha256 = await makeKey(fields);
      const answer = await count(sha256);
      expect(answer).to.include({ verdict: expected.counted, keyName: 'my-key', expiresAt: fields.exp ?? 0 });
      expect((await authenticate(sha256)).verdict).to.equal(expected.uncounted);
    });
  }

  it('answers unknown_key to a hash that is not published', async () => {
    const answer = await count('f'.repeat(64));
    expect(answer).to.include({ verdict: 'unknown_key', keyName: '', creditLeft: false });
    expect(await stack.redis.exists(workKeys(namespace).rpm('f'.repeat(64)))).to.equal(0);
  });

  it('takes a session key until it expires, whatever else is published', async () => {
    const sha256 = 'e'.repeat(64);
    const { redis } = stack.connection;
    await publishSessionKey(redis, namespace, {
      sha256,
      name: 'session',
      rpm: 2,
      tpd: 100,
      expiresAt: Date.now() + 60_000,
    });
    await publishApiKeys(redis, namespace, new Map());
    expect(await count(sha256)).to.include({ verdict: 'ok', keyName: 'session' });
    expect((await count(sha256)).rpm.remaining).to.equal(0);
    expect((await count(sha256)).verdict).to.equal('rpm');
    const key = configKeys(namespace).sessionKey(sha256);
    expect(await redis.pttl(key)).to.be.within(30_000, 60_000);
    await redis.pexpire(key, 1);
    await pollUntil(async () => (await authenticate(sha256)).verdict === 'unknown_key', 'the key expires');
  });

  it('counts down the minute and refuses what is over, with the time of its end', async () => {
    const sha256 = await makeKey();
    const [seconds] = await stack.redis.time();
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await count(sha256));
    expect(answers.map(({ verdict }) => verdict)).to.deep.equal(['ok', 'ok', 'ok', 'rpm', 'rpm']);
    expect(answers.map(({ rpm }) => rpm.remaining)).to.deep.equal([2, 1, 0, 0, 0]);
    const [after] = await stack.redis.time();
    for (const { rpm } of answers) expect(rpm.resetAt).to.be.within(Number(seconds) + 60, Number(after) + 61);
    expect(answers[3]?.retryAfter).to.be.within(30, 60);
  });

  it('begins the minute with its first request, and neither later nor refused ones extend it', async () => {
    const sha256 = await makeKey({ rpm: 2 });
    const key = workKeys(namespace).rpm(sha256);
    await count(sha256);
    await stack.redis.pexpire(key, 30_000);
    await count(sha256);
    const refused = await count(sha256);
    expect(refused.verdict).to.equal('rpm');
    expect(refused.retryAfter).to.be.at.most(30);
    expect(await stack.redis.pttl(key)).to.be.at.most(30_000);
    await stack.redis.pexpire(key, 1);
    await pollUntil(async () => (await count(sha256)).verdict === 'ok', 'the minute ends');
    expect(await stack.redis.pttl(key)).to.be.above(30_000);
  });

  it('counts served requests only, so that a raised limit takes effect within the minute', async () => {
    const sha256 = await makeKey({ rpm: 1 });
    for (let i = 0; i < 5; i++) await count(sha256);
    await publishApiKey(stack.redis, namespace, sha256, { ...published, rpm: 3 });
    expect((await count(sha256)).rpm).to.include({ limit: 3, remaining: 1 });
  });

  it('shows the minute without counting when it only authenticates', async () => {
    const sha256 = await makeKey();
    await count(sha256);
    for (let i = 0; i < 5; i++) expect((await authenticate(sha256)).rpm.remaining).to.equal(2);
  });

  it('admits until the tokens of the UTC day are used, then refuses until it ends', async () => {
    const sha256 = await makeKey({ rpm: 1000 });
    const [seconds] = await stack.redis.time();
    const dayEnd = (Math.floor(Number(seconds) / 86_400) + 1) * 86_400;
    await use(sha256, 99);
    expect(await count(sha256)).to.include({ verdict: 'ok' });
    await use(sha256, 50);
    const refused = await count(sha256);
    expect(refused.verdict).to.equal('tpd');
    expect(refused.tpd).to.deep.equal({ limit: 100, used: 149, resetAt: dayEnd });
    expect(refused.retryAfter).to.be.within(dayEnd - Number(seconds) - 30, dayEnd - Number(seconds));
    expect((await authenticate(sha256)).rpm.remaining, 'a refusal by the day counts no request').to.equal(
      999,
    );
  });

  it('forgets yesterday’s tokens', async () => {
    const sha256 = await makeKey();
    const [seconds] = await stack.redis.time();
    const yesterday = Math.floor(Number(seconds) / 86_400) - 1;
    await stack.redis.set(workKeys(namespace).tpd(sha256, yesterday), 1000);
    expect((await count(sha256)).tpd.used).to.equal(0);
  });

  it('keeps a day’s tokens for two days and a settlement’s marker for ten minutes', async () => {
    const sha256 = await makeKey();
    const [seconds] = await stack.redis.time();
    await settle(stack.redis, { namespace, sha256, tokens: 1, micros: 0, token: 'kept' });
    const { tpd, settled } = workKeys(namespace);
    const day = Math.floor(Number(seconds) / 86_400);
    expect(await stack.redis.ttl(tpd(sha256, day))).to.be.within(172_770, 172_800);
    expect(await stack.redis.ttl(settled('kept'))).to.be.within(570, 600);
  });

  it('settles once for each token, however often the call is repeated', async () => {
    const sha256 = await makeKey();
    const settlement = { namespace, sha256, tokens: 7, micros: 3, token: 'once' };
    const spent = async () => Number((await stack.redis.get(workKeys(namespace).credit)) ?? 0);
    const earlier = await spent();
    expect(await settle(stack.redis, settlement)).to.equal(true);
    expect(await settle(stack.redis, settlement)).to.equal(false);
    expect((await authenticate(sha256)).tpd.used).to.equal(7);
    expect((await spent()) - earlier).to.equal(3);
  });

  it('rejects without credit before anything is counted, and admits again once more is granted', async () => {
    const sha256 = await makeKey();
    await stack.redis.del(workKeys(namespace).credit);
    await publishWorkspace(stack.redis, namespace, { creditMicros: 10 });
    await use(sha256, 0, 9);
    expect(await count(sha256)).to.include({ verdict: 'ok', creditLeft: true });
    await use(sha256, 0, 5);
    expect(await count(sha256)).to.include({ verdict: 'credit', creditLeft: false, retryAfter: 0 });
    expect(await authenticate(sha256)).to.include({ verdict: 'ok', creditLeft: false });
    expect((await authenticate(sha256)).rpm.remaining).to.equal(2);
    await publishWorkspace(stack.redis, namespace, { creditMicros: 1000 });
    expect((await count(sha256)).verdict).to.equal('ok');
    await publishWorkspace(stack.redis, namespace, { creditMicros: null });
    expect((await count(sha256)).creditLeft).to.equal(true);
  });
});
