import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { deliveryKeys } from '../../../api/redis-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMailer, MailDeferredError, type Mailer } from '../../../gateway/webhooks/mailer.ts';
import { OwnerMail } from '../../../gateway/webhooks/owner-mail.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import type { AbandonedCallback } from '../../../redis/deliveries/owner-mail.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { ReplyLoss } from '../../support/reply-loss.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('mail to the owner of a workspace', () => {
  let stack: TestStack;
  let smtp: SMTPServer;
  let mailer: Mailer;
  let namespace: string;
  let count = 0;
  let owner: string | null;
  const messages: { to: string[]; text: string }[] = [];
  /** What the server answers to a message in place of 250. */
  let refusal: number | null;

  before(async () => {
    stack = await TestStack.start();
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        stream.on('end', () => {
          if (refusal !== null) return done(Object.assign(new Error('not now'), { responseCode: refusal }));
          messages.push({ to: session.envelope.rcptTo.map(({ address }) => address), text });
          done();
        });
      },
    });
    const listening = smtp.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = smtp.server.address() as AddressInfo;
    mailer = createMailer({ readURL: () => `smtp://127.0.0.1:${port}`, from: 'berth@example.com' });
  });
  beforeEach(() => {
    namespace = `space-${++count}`;
    owner = 'owner@example.com';
    messages.length = 0;
    refusal = null;
  });
  after(async () => {
    mailer?.close();
    await new Promise<void>((resolve) => smtp.close(resolve));
    await stack?.stop();
  });

  const start = (send = mailer.send, redis = stack.redis) =>
    new OwnerMail({
      redis,
      readOwner: async () => owner,
      send,
      log: createLog('silent', {}),
    });
  const add = async (number: number, fields: Partial<AbandonedCallback> = {}) => {
    for (let i = 0; i < number; i++) {
      const callback: AbandonedCallback = {
        delivery: `dlv_${i}`,
        event: `evt_${i}`,
        type: 'request.completed',
        request: `req_${i}`,
        url: `https://hooks.example/secret-path?token=${i}`,
        error: 'answered 500',
        at: Date.now(),
        ...fields,
      };
      await stack.redis.zadd(deliveryKeys(namespace).mail, i, JSON.stringify(callback));
    }
  };
  const run = async (ownerMail = start()) => {
    ownerMail.wake(namespace);
    await ownerMail.close();
  };

  it('says what failed and where, and nothing secret', async () => {
    await add(1);
    await run();
    expect(messages).to.have.length(1);
    const [{ to, text }] = messages as [(typeof messages)[0]];
    expect(to).to.deep.equal(['owner@example.com']);
    expect(text).to.include(`Subject: [Berth] A callback of the workspace ${namespace} failed`);
    expect(text.replace(/=\r?\n/g, ''))
      .to.include('req_0')
      .and.include('hooks.example')
      .and.include('answered 500');
    expect(text).not.to.match(/secret-path|token/);
  });

  it('reports a delivery once, whichever front processes it', async () => {
    await add(1);
    await Promise.all([run(), run()]);
    await add(1);
    await run();
    expect(messages).to.have.length(1);
    expect(await stack.redis.zcard(deliveryKeys(namespace).mail)).to.equal(0);
  });

  it('lets no line break of a tenant begin a header', async () => {
    await add(1, { type: 'x\r\nBcc: victim@example.com', error: 'a\nb' });
    await run();
    expect(messages[0]!.to).to.deep.equal(['owner@example.com']);
    expect(messages[0]!.text).not.to.match(/^Bcc:/m);
  });

  it('sends at most 20 in an hour, and the rest as one digest at its end', async () => {
    await add(30);
    const ownerMail = start();
    await run(ownerMail);
    expect(messages).to.have.length(20);
    await run(ownerMail);
    expect(messages).to.have.length(20);
    await stack.redis.del(deliveryKeys(namespace).mails);
    await run(ownerMail);
    expect(messages).to.have.length(21);
    expect(messages[20]!.text).to.include('10 more callbacks');
  });

  it('still reports what another front had removed from the list while the server had not responded', async () => {
    await add(1);
    const { mail } = deliveryKeys(namespace);
    await run(
      start(async () => {
        await stack.redis.del(mail);
        throw new MailDeferredError('not now');
      }),
    );
    expect(await stack.redis.zcard(mail)).to.equal(1);
    await stack.redis.zadd(mail, 'XX', 0, (await stack.redis.zrevrange(mail, 0, 0))[0]!);
    await run();
    expect(messages).to.have.length(1);
  });

  it('notifies nobody if no owner is set', async () => {
    owner = null;
    await add(1);
    await run();
    expect(messages).to.deep.equal([]);
    expect(await stack.redis.zcard(deliveryKeys(namespace).mail)).to.equal(0);
  });

  /** As if the minute had passed that what was not removed waits. */
  const makeDue = async () => {
    const { mail } = deliveryKeys(namespace);
    for (const member of await stack.redis.zrevrange(mail, 0, -1)) await stack.redis.zadd(mail, 0, member);
  };
  const countWaiting = () => stack.redis.zcard(deliveryKeys(namespace).mail);

  it('comes later where the server refuses it for now, and once', async () => {
    await add(2);
    refusal = 451;
    await run();
    expect([messages.length, await countWaiting()]).to.deep.equal([0, 2]);
    refusal = null;
    await makeDue();
    await run();
    await makeDue();
    await run();
    expect([messages.length, await countWaiting()]).to.deep.equal([2, 0]);
  });

  it('comes later where the server was not there', async () => {
    await add(1);
    const away = createMailer({ readURL: () => 'smtp://127.0.0.1:1', from: 'berth@example.com' });
    await run(start(away.send));
    away.close();
    expect(await countWaiting()).to.equal(1);
    await makeDue();
    await run();
    expect(messages).to.have.length(1);
  });

  it('keeps the digest where the server refuses it for now', async () => {
    await add(22);
    await run();
    await stack.redis.del(deliveryKeys(namespace).mails);
    refusal = 451;
    await run();
    expect(messages).to.have.length(20);
    refusal = null;
    await run();
    expect(messages, 'not before the next hour').to.have.length(20);
    await stack.redis.del(deliveryKeys(namespace).mails);
    await run();
    expect(messages[20]!.text).to.include('2 more callbacks');
  });

  describe('behind a connection that loses replies', () => {
    let relay: ReplyLoss;
    let connection: RedisConnection;
    before(async () => {
      relay = await ReplyLoss.start(stack.server);
      connection = await connectTo(relay);
    });
    after(async () => {
      await connection?.close();
      await relay?.stop();
    });

    /** A run in which the reply to a command with the text is lost, of a front that goes on. */
    const runWithLoss = async (text: string) => {
      const front = start(mailer.send, connection.redis);
      const { lost } = relay;
      relay.loseNext(text);
      front.wake(namespace);
      await pollUntil(() => relay.lost > lost, 'a reply to be lost');
      await front.close();
      await connection.untilUp(60_000);
      return front;
    };

    for (const [step, text] of [
      ['it is marked', 'mailed:'],
      ['it is counted', 'incr'],
      ['it is removed', 'zrem'],
    ] as const)
      it(`is sent once where the reply is lost when ${step}`, async () => {
        await add(1);
        const front = await runWithLoss(text);
        await makeDue();
        // Another front leaves it to the one that has marked it.
        await run();
        await makeDue();
        await run(front);
        await makeDue();
        await run();
        expect([messages.length, await countWaiting()]).to.deep.equal([1, 0]);
      });

    for (const [step, text] of [
      ['it is read', 'lrange'],
      ['it is removed', 'lrem'],
    ] as const)
      it(`is sent once in a digest where the reply is lost when ${step}`, async () => {
        await add(23);
        await run();
        expect(messages).to.have.length(20);
        await stack.redis.del(deliveryKeys(namespace).mails);
        const front = await runWithLoss(text);
        for (let hour = 0; hour < 2; hour++) {
          await run(front);
          await stack.redis.del(deliveryKeys(namespace).mails);
        }
        await run();
        expect(messages).to.have.length(21);
        expect(messages[20]!.text).to.include('3 more callbacks');
      });
  });

  it('is not sent by another front that finds it marked for long: the first may have sent it', async () => {
    await add(1, { at: Date.now() - 11 * 60_000 });
    await stack.redis.set(deliveryKeys(namespace).mailed('dlv_0'), 'another');
    await run();
    expect([messages.length, await countWaiting()]).to.deep.equal([0, 0]);
  });

  const ends: [what: string, code: number, age: number][] = [
    ['refuses it for good', 550, 0],
    ['has refused it for a day', 451, 25 * 3_600_000],
  ];
  for (const [what, code, age] of ends)
    it(`is given up where the server ${what}`, async () => {
      await add(1, { at: Date.now() - age });
      refusal = code;
      await run();
      refusal = null;
      await makeDue();
      await run();
      expect([messages.length, await countWaiting()]).to.deep.equal([0, 0]);
    });
});
