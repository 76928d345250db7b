import { expect } from 'chai';
import { globalKeys } from '../../../api/redis-keys.ts';
import { admit, settle } from '../../../redis/admission/admission-calls.ts';
import { connectRedis, isRedisAway, type RedisConnection, type RedisState } from '../../../redis/client.ts';
import { libraryIsLoaded, loadLibrary } from '../../../redis/library.ts';
import { beginEpoch, completeEpoch } from '../../../redis/publication/publication.ts';
import { readEpoch } from '../../../redis/publication/published.ts';
import { subscribe } from '../../../redis/subscription.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { connectTo, fillMemory, rejection } from '../../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../../support/redis-server.ts';

const SHA256 = 'a'.repeat(64);
const REQUEST = { namespace: 'one', sha256: SHA256, counted: 'all' } as const;
const TIMEOUT_MS = 1_500;
/** Slack for a busy machine; what would hang does so for much longer. */
const SLACK_MS = 5_000;

describe('a Redis that goes away', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const states: RedisState[] = [];

  /** Every call must reject as away, and all of them in time. */
  async function expectAway(rejections: Promise<unknown>[]): Promise<void> {
    const start = performance.now();
    const errors = await Promise.all(rejections);
    const took = performance.now() - start;
    for (const error of errors) expect(isRedisAway(error), String(error)).to.equal(true);
    expect(took).to.be.below(TIMEOUT_MS + SLACK_MS);
  }
  const call = () => admit(connection.redis, REQUEST);
  const failingCall = () => rejection(call());
  /** Commands are written one turn of the loop after they are called. */
  const written = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  };
  const isUp = () => connection.state === 'up';

  beforeEach(async () => {
    server = await startRedis({ isStrict: true });
    connection = await connectTo(server, { commandTimeoutMs: TIMEOUT_MS });
    states.length = 0;
    connection.onStateChange((state) => states.push(state));
    await loadLibrary(connection.redis);
    await publishApiKey(connection.redis, 'one', SHA256, { n: 'k', rpm: 100, tpd: 100, exp: 0, off: 0 });
    await beginEpoch(connection.redis, 'first');
    await completeEpoch(connection.redis);
  });
  afterEach(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('fails calls at once while the connection is down and serves again without a restart', async () => {
    await server.kill();
    await pollUntil(() => connection.state === 'away', 'the loss is noticed');
    const start = performance.now();
    await expectAway([failingCall(), failingCall()]);
    expect(performance.now() - start).to.be.below(SLACK_MS);
    await server.restart();
    await pollUntil(isUp, 'it connects again');
    expect((await call()).verdict).to.equal('ok');
    expect(states).to.deep.equal(['away', 'up']);
  });

  it('rejects calls in flight when the connection breaks, long before their time-out', async () => {
    const patient = await connectTo(server, { commandTimeoutMs: 60_000 });
    try {
      server.pause();
      const calls = [admit(patient.redis, REQUEST), patient.redis.multi().incr('x').exec()].map(rejection);
      await written();
      await server.kill();
      await expectAway(calls);
    } finally {
      await patient.close();
    }
  });

  it('rejects calls in time while the server is frozen, those queued behind others too', async () => {
    server.pause();
    const early = [failingCall(), failingCall()];
    await written();
    const settlement = { ...REQUEST, tokens: 1, micros: 0, token: 't' };
    await expectAway([...early, failingCall(), rejection(settle(connection.redis, settlement))]);
    await pollUntil(() => connection.state === 'away', 'the silence is noticed');
    await expectAway([failingCall()]);
    server.resume();
    await pollUntil(isUp, 'it connects again');
    expect((await call()).verdict).to.equal('ok');
  });

  it('waits for replies that came in while this process stood still, and keeps the connection', async () => {
    const calls = [connection.redis.ping(), connection.redis.echo('x')];
    // They are written, and nothing has been read since.
    await new Promise(setImmediate);
    const start = performance.now();
    while (performance.now() < start + TIMEOUT_MS + 300);
    expect(await Promise.all(calls)).to.deep.equal(['PONG', 'x']);
    expect((await call()).verdict).to.equal('ok');
    expect(states).to.deep.equal([]);
  });

  it('sends nothing again that failed: a frozen server counts a request at most once', async () => {
    await call();
    server.pause();
    await expectAway([failingCall(), failingCall()]);
    await pollUntil(() => connection.state === 'away', 'the silence is noticed');
    server.resume();
    await pollUntil(isUp, 'it connects again');
    const { rpm } = await call();
    // What had reached the server's socket is counted when it thaws; nothing is doubled.
    expect(rpm.remaining).to.be.within(100 - 4, 100 - 2);
  });

  it('keeps limits, the library and the epoch over a restart with an append-only file', async () => {
    await call();
    await call();
    await settle(connection.redis, { ...REQUEST, tokens: 100, micros: 5, token: 't' });
    await server.kill();
    await server.restart();
    await pollUntil(isUp, 'it connects again');
    expect(await libraryIsLoaded(connection.redis)).to.equal(true);
    const answer = await admit(connection.redis, { ...REQUEST, counted: 'no' });
    expect(answer).to.deep.include({ verdict: 'ok', rpm: { ...answer.rpm, limit: 100, remaining: 98 } });
    expect(answer.tpd.used).to.equal(100);
    expect((await call()).verdict).to.equal('tpd');
    expect(await readEpoch(connection.redis)).to.equal('first');
    expect(await settle(connection.redis, { ...REQUEST, tokens: 100, micros: 5, token: 't' })).to.equal(
      false,
    );
  });

  it('counts as away after it lost everything, until the library is loaded again', async () => {
    await connection.redis.flushall();
    await connection.redis.function('FLUSH');
    expect(await readEpoch(connection.redis)).to.equal(null);
    await expectAway([failingCall()]);
  });

  it('serves admissions on while memory is full', async () => {
    await fillMemory(connection.redis);
    const refusal = await rejection(connection.redis.set(globalKeys.epoch, 'x'));
    expect(isRedisAway(refusal), String(refusal)).to.equal(true);
    expect((await call()).verdict).to.equal('ok');
    expect(await settle(connection.redis, { ...REQUEST, tokens: 1, micros: 1, token: 't' })).to.equal(true);
  });

  it('starts away, says why without the password, and connects once the server is there', async () => {
    await server.kill();
    const late = connectRedis({ url: server.url, name: 'late', role: 'front' });
    try {
      expect(late.state).to.equal('away');
      await expectAway([rejection(admit(late.redis, REQUEST))]);
      const error = String(await rejection(late.untilUp(200)));
      expect(error)
        .to.match(/ECONNREFUSED/)
        .and.not.include(REDIS_PASSWORDS.operator);
      await server.restart();
      await late.untilUp(60_000);
      expect((await admit(late.redis, REQUEST)).verdict).to.equal('ok');
    } finally {
      await late.close();
    }
  });

  it('reconnects elsewhere when the server has become a replica', async () => {
    await connection.redis.replicaof('127.0.0.1', '1');
    await expectAway([failingCall()]);
    await pollUntil(() => states.includes('away'), 'it looks for the master');
  });

  it('subscribes again after a loss and says so, for messages may have been missed', async () => {
    const messages: string[] = [];
    let resumed = 0;
    const subscription = subscribe(
      { url: server.url, name: 'test', role: 'sidecar' },
      ['n:{one}', 'n:front'],
      {
        onMessage: (message, channel) => messages.push(`${channel} ${message}`),
        onResume: () => resumed++,
      },
    );
    try {
      await pollUntil(() => resumed === 1, 'the first subscription');
      await connection.redis.publish('n:{one}', 'a');
      await pollUntil(() => messages.length === 1, 'the first message');
      await server.kill();
      await pollUntil(() => subscription.state === 'away', 'the loss is noticed');
      await server.restart();
      await pollUntil(() => resumed === 2 && isUp(), 'the second subscription');
      await connection.redis.publish('n:front', 'b');
      await pollUntil(() => messages.length === 2, 'the second message');
      expect(messages).to.deep.equal(['n:{one} a', 'n:front b']);
    } finally {
      await subscription.close();
    }
  });
});
