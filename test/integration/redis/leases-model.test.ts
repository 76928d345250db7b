import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { Settlements } from '../../../gateway/account/settlements.ts';
import { Admissions, type Admitted } from '../../../gateway/auth/admission.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import { admit, readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { publishApiKey } from '../../support/publication.ts';
import { connectTo } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

const namespace = 'one';
const PUBLISHED = { n: 'key', rpm: 6_000, tpd: 1_000_000_000, exp: 0, off: 0 as 0 | 1 };

/** mulberry32: the same history for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

describe('admissions of several gateways that lease requests', () => {
  let stack: TestStack;
  /** With the rights of the workspace's user alone. */
  let gatewayUser: RedisConnection;
  let clock: FakeClock;
  let keys = 0;
  const opened: { close(): Promise<void> }[] = [];
  before(async () => {
    stack = await TestStack.start();
    const user = { namespace, username: `ws:${namespace}`, password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    gatewayUser = await connectTo(stack.server, { ...user, role: 'sidecar' });
  });
  beforeEach(() => {
    clock = new FakeClock();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });
  after(async () => {
    await gatewayUser?.close();
    await stack?.stop();
  });

  async function makeKey(fields: Partial<typeof PUBLISHED> = {}) {
    const sha256 = String(++keys).padStart(64, '0').split('').reverse().join('');
    const publish = (more: Partial<typeof PUBLISHED>) =>
      publishApiKey(stack.redis, namespace, sha256, { ...PUBLISHED, ...fields, ...more });
    await publish({});
    const counter = workKeys(namespace).rpm(sha256);
    return { sha256, publish, counted: async () => Number((await stack.redis.get(counter)) ?? 0), counter };
  }

  /** It settles at its end unless told otherwise. */
  function openGateway(collectMs = 1_000_000) {
    const log = createLog('silent');
    const metrics = createMetrics();
    const { redis } = gatewayUser;
    const settlements = new Settlements({ redis, log, metrics, timing: { collectMs } });
    const admissions = new Admissions({ redis, log, metrics, settlements, waits: clock });
    void admissions.refresh();
    opened.push({ close: () => Promise.all([admissions.refresh(), settlements.close()]).then(() => {}) });
    const ask = async (sha256: string): Promise<Admitted | string> => {
      try {
        return await admissions.admit({ namespace, sha256, counted: 'all' });
      } catch (error) {
        if (error instanceof ApiError) return error.code;
        throw error;
      }
    };
    return { admissions, settlements, ask };
  }

  type Gateway = ReturnType<typeof openGateway>;
  const isAdmitted = (answer: Admitted | string): answer is Admitted => typeof answer !== 'string';
  const countCalls = async () => {
    const stats = await stack.redis.info('commandstats');
    return Number(/cmdstat_fcall:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };

  it('let exactly 5 of 20 through at RPM 5', async () => {
    const { sha256 } = await makeKey({ rpm: 5 });
    const gateways = [openGateway(), openGateway()];
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => gateways[i % 2]!.ask(sha256)));
    expect(answers.filter(isAdmitted)).to.have.length(5);
  });

  it('count every one of the last 256 by itself, with the exact rest', async () => {
    const { sha256 } = await makeKey({ rpm: 256 });
    const gateway = openGateway();
    for (let left = 255; left >= 0; left--) {
      const answer = await gateway.ask(sha256);
      expect(isAdmitted(answer) && answer.headers[1]).to.equal(String(left));
    }
    expect(await gateway.ask(sha256)).to.equal('rate_limit_exceeded');
  });

  it('let at most 6,000 and at least 99 % through at RPM 6,000 over four gateways, for few calls', async () => {
    const { sha256 } = await makeKey();
    const gateways = Array.from({ length: 4 }, () => openGateway());
    const before = await countCalls();
    let admitted = 0;
    for (let i = 0; i < 6_400; i++) {
      if (isAdmitted(await gateways[i % 4]!.ask(sha256))) admitted++;
      if (i % 640 === 639) await clock.advance(500);
    }
    expect(admitted).to.be.within(5_940, 6_000);
    expect((await countCalls()) - before).to.be.below(1_700);
  });

  it('tell a gateway alone at most a 64th less than what is left, and never more', async () => {
    const { sha256 } = await makeKey();
    const { ask } = openGateway();
    const told: number[] = [];
    for (let left = 5_999; left >= 0; left--) {
      const answer = await ask(sha256);
      told.push(isAdmitted(answer) ? Number(answer.headers[1]) : Number.NaN);
      expect(told.at(-1)).to.be.within(left - Math.floor((left + 100) / 64), left);
      // Its lease ends without a timer.
      if (left % 40 === 0) clock.elapse(100);
    }
    expect(told.slice(-200)).to.deep.equal(Array.from({ length: 200 }, (_, i) => 199 - i));
  });

  for (const shares of [
    [1, 1],
    [1, 8],
    [1, 1, 1, 1],
    [20, 3, 1, 1],
  ])
    it(`tell no more than what is left where gateways take requests in shares of ${shares.join(', ')}`, async () => {
      const random = createRandom(shares.length);
      const { sha256 } = await makeKey();
      const gateways = shares.flatMap((share) =>
        Array.from({ length: share }).fill(openGateway()),
      ) as Gateway[];
      const before = await countCalls();
      for (let left = 5_999; left >= 2_000; left--) {
        const answer = await gateways[random(gateways.length)]!.ask(sha256);
        const told = isAdmitted(answer) ? Number(answer.headers[1]) : Number.NaN;
        expect(told).to.be.within(left - Math.ceil(((3 + shares.length) * (left + 100)) / 256), left);
        // All of them take less in 100 ms than what is set aside, 3 parts in 256: 100 requests a second at the limit's own pace.
        await clock.advance(left > 4_000 ? 2.5 : 5);
      }
      expect((await countCalls()) - before, 'with leases').to.be.below(3_000);
    });

  it('return what was not used within 100 ms, and a request that the engine failed', async () => {
    const { sha256, counted } = await makeKey();
    const gateway = openGateway();
    const answers: (Admitted | string)[] = [];
    for (let i = 0; i < 100; i++) answers.push(await gateway.ask(sha256));
    expect(await counted()).to.be.above(100);
    const last = answers.at(-1)!;
    if (isAdmitted(last)) last.uncount?.();
    await clock.advance(100);
    await gatewayUser.redis.ping();
    expect(await counted()).to.equal(99);
    const first = answers[50]!;
    if (isAdmitted(first)) first.uncount?.();
    await gatewayUser.redis.ping();
    expect(await counted(), 'after its lease has ended').to.equal(98);
  });

  for (const [what, change] of [
    ['a message', (gateway: Gateway) => gateway.admissions.refresh()],
    ['100 ms without one', () => clock.advance(100)],
    ['100 ms without one, in which no timer ran', () => clock.elapse(100)],
  ] as const)
    it(`refuse a key that was disabled after ${what}`, async () => {
      const { sha256, publish } = await makeKey();
      const gateway = openGateway();
      for (let i = 0; i < 50; i++) await gateway.ask(sha256);
      await publish({ off: 1 });
      expect(await gateway.ask(sha256), 'a lease is held').to.satisfy(isAdmitted);
      await change(gateway);
      expect(await gateway.ask(sha256)).to.equal('invalid_api_key');
    });

  it('lease nothing before changes are heard of, nor an answer that was sent before a change', async () => {
    const { sha256, counted } = await makeKey();
    const { settlements } = openGateway();
    const options = {
      redis: gatewayUser.redis,
      log: createLog('silent'),
      metrics: createMetrics(),
      settlements,
    };
    const deaf = new Admissions({ ...options, waits: clock });
    for (let i = 0; i < 20; i++) await deaf.admit({ namespace, sha256, counted: 'all' });
    expect(await counted()).to.equal(20);
    await deaf.refresh();
    const asked = Promise.all(
      Array.from({ length: 30 }, () => deaf.admit({ namespace, sha256, counted: 'all' })),
    );
    await deaf.refresh();
    await asked;
    await settle();
    await gatewayUser.redis.ping();
    expect(await counted()).to.equal(50);
  });

  it('ask again once what is unsettled exceeds a 64th of the day or of the credit', async () => {
    for (const used of [
      { tokens: 16, price: 0 },
      { tokens: 0, price: 16 },
    ]) {
      const { sha256, publish } = await makeKey({ tpd: 1_000 });
      await stack.redis.del(workKeys(namespace).credit);
      await publishWorkspace(stack.redis, namespace, { creditMicros: 1_000 });
      const gateway = openGateway();
      for (let i = 0; i < 50; i++) await gateway.ask(sha256);
      await publish({ off: 1 });
      gateway.settlements.charge({
        namespace,
        keyHash: sha256,
        tokens: used.tokens && 15,
        price: used.price && 15,
      });
      expect(await gateway.ask(sha256)).to.satisfy(isAdmitted);
      gateway.settlements.charge({
        namespace,
        keyHash: sha256,
        tokens: used.tokens && 1,
        price: used.price && 1,
      });
      expect(await gateway.ask(sha256)).to.equal('invalid_api_key');
    }
    await publishWorkspace(stack.redis, namespace, { creditMicros: null });
  });

  it('count nothing of what Redis refuses', async () => {
    const used = await makeKey({ tpd: 0 });
    const request = { namespace, counted: 'all' as const, leased: 10 };
    expect((await admit(stack.redis, { ...request, sha256: used.sha256 })).verdict).to.equal('tpd');
    const poor = await makeKey();
    await publishWorkspace(stack.redis, namespace, { creditMicros: 0 });
    const { verdict, lease } = await admit(stack.redis, { ...request, sha256: poor.sha256 });
    await publishWorkspace(stack.redis, namespace, { creditMicros: null });
    expect([verdict, lease]).to.deep.equal(['credit', null]);
    expect([await used.counted(), await poor.counted()]).to.deep.equal([0, 0]);
  });

  it('refuse a used day for a second without a call, until the key changes', async () => {
    const { sha256, publish } = await makeKey({ tpd: 0 });
    const gateway = openGateway();
    await gateway.ask(sha256);
    const before = await countCalls();
    for (let i = 0; i < 100; i++) expect(await gateway.ask(sha256)).to.equal('rate_limit_exceeded');
    expect((await countCalls()) - before).to.equal(0);
    await publish({ tpd: 10 });
    await gateway.admissions.refresh();
    expect(await gateway.ask(sha256)).to.satisfy(isAdmitted);
  });

  for (let seed = 1; seed <= 20; seed++)
    it(`never exceed a limit, and outlive no change by 100 ms, in random history ${seed}`, async () => {
      const random = createRandom(seed);
      const rpm = () => 500 + random(6_000);
      const key = await makeKey();
      const gateways = Array.from({ length: 3 }, () => openGateway());
      /** What is published is heard of at once, or not at all. */
      const hear = async () => {
        if (random(2) === 0) await clock.advance(100);
        else for (const { admissions } of gateways) await admissions.refresh();
      };
      let limit = 0;
      let highest = 0;
      const setRpm = async () => {
        limit = rpm();
        highest = Math.max(highest, limit);
        await key.publish({ rpm: limit });
        await hear();
      };
      const refuse = async (why: string, from: () => Promise<void>, until: () => Promise<void>) => {
        await from();
        await hear();
        for (const { ask } of gateways) expect(await ask(key.sha256)).to.equal(why);
        await until();
        for (const { admissions } of gateways) await admissions.refresh();
      };
      const publish = async (off: 0 | 1) => {
        await key.publish({ rpm: limit, off });
      };
      const grant = async (creditMicros: number | null) => {
        await publishWorkspace(stack.redis, namespace, { creditMicros });
      };
      await setRpm();
      const served: Admitted[] = [];
      let lost = 0;
      const events: [number, (gateway: Gateway) => Promise<void>][] = [
        [
          80,
          async ({ ask }) => {
            const burst = Array.from({ length: 1 + random(30) }, () => ask(key.sha256));
            served.push(...(await Promise.all(burst)).filter(isAdmitted));
          },
        ],
        [10, async () => served.splice(random(served.length + 1), 1)[0]?.uncount?.()],
        [5, () => clock.advance(random(120))],
        [
          2,
          // It dies: what it holds is never returned, and its requests are over.
          async (gateway) => {
            gateways[gateways.indexOf(gateway)] = openGateway();
            lost++;
          },
        ],
        [2, setRpm],
        [
          1,
          () =>
            refuse(
              'invalid_api_key',
              () => publish(1),
              () => publish(0),
            ),
        ],
        [
          1,
          () =>
            refuse(
              'insufficient_quota',
              () => grant(0),
              () => grant(null),
            ),
        ],
        [
          1,
          // The minute ends, and every lease with it.
          async () => {
            await clock.advance(100);
            await gatewayUser.redis.ping();
            await stack.redis.del(key.counter);
            served.length = 0;
            highest = limit;
          },
        ],
      ];
      const drawn = events.flatMap(([weight, event]) => Array.from({ length: weight }, () => event));
      for (let step = 0; step < 400; step++) {
        await drawn[random(drawn.length)]!(gateways[random(3)]!);
        expect(served.length).to.be.at.most(highest);
        expect(await key.counted(), 'what Redis counted').to.be.at.least(served.length);
        expect(await key.counted()).to.be.at.most(highest);
      }
      await clock.advance(100);
      await gatewayUser.redis.ping();
      if (lost === 0) expect(await key.counted()).to.equal(served.length);
    });

  it('spend at most a 64th more than the credit, for each gateway', async () => {
    const { sha256 } = await makeKey();
    await stack.redis.del(workKeys(namespace).credit);
    await publishWorkspace(stack.redis, namespace, { creditMicros: 2_000 });
    const gateways = Array.from({ length: 3 }, () => openGateway(1));
    let spent = 0;
    try {
      for (let refused = 0, i = 0; refused < 3; i++) {
        const { ask, settlements } = gateways[i % 3]!;
        const answer = await ask(sha256);
        if (!isAdmitted(answer)) refused++;
        else spent += settlements.charge({ namespace, keyHash: sha256, tokens: 0, price: 1 });
        // In between, each charges up to ten requests that Redis has not heard of.
        if (i % 30 === 29) while ((await readSpentMicros(stack.redis, namespace)) < spent) await nextTurn();
      }
    } finally {
      await publishWorkspace(stack.redis, namespace, { creditMicros: null });
    }
    expect(spent).to.be.within(2_000, 2_000 + 3 * 31);
  });

  it('ends leases of gateways that stop', async () => {
    const { sha256, counted } = await makeKey();
    const { admissions, ask } = openGateway();
    for (let i = 0; i < 50; i++) await ask(sha256);
    await admissions.refresh();
    expect(await counted()).to.equal(50);
  });

  it('work with the library of the last version, which leases nothing', async () => {
    const { sha256, counted } = await makeKey();
    const connection = await connectTo(stack.server);
    opened.push(connection);
    const code = (await stack.redis.function('LIST', 'WITHCODE')) as unknown[][];
    const current = String(code[0]![code[0]!.indexOf('library_code') + 1]);
    const before = current
      .replace(/local asked = .*/, 'local asked = nil')
      .replace("args='endsAt count'", "args='endsAt'")
      .replace(
        'uncount={kind="bounded",keys=1,fixed=2,each=0,least=1,most=2',
        'uncount={kind="bounded",keys=1,fixed=1,each=0,least=1,most=1',
      );
    expect(before).to.not.equal(current);
    await stack.redis.function('LOAD', 'REPLACE', before);
    try {
      const gateway = openGateway();
      for (let i = 0; i < 50; i++) expect(await gateway.ask(sha256)).to.satisfy(isAdmitted);
      const last = await gateway.ask(sha256);
      expect(await counted()).to.equal(51);
      if (isAdmitted(last)) last.uncount?.();
      await gatewayUser.redis.ping();
      expect(await counted()).to.equal(50);
      await publishWorkspace(stack.redis, namespace, { creditMicros: 0 });
      expect(await gateway.ask(sha256), 'its verdict is of the minute alone').to.equal('insufficient_quota');
    } finally {
      await publishWorkspace(stack.redis, namespace, { creditMicros: null });
      await stack.redis.function('LOAD', 'REPLACE', current);
    }
  });
});
