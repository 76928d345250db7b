import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { deliveryKeys } from '../../../api/redis-keys.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMailer, MailDeferredError, type Mailer } from '../../../gateway/webhooks/mailer.ts';
import { OwnerMail } from '../../../gateway/webhooks/owner-mail.ts';
import type { AbandonedCallback } from '../../../redis/deliveries/owner-mail.ts';
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

  const start = (send = mailer.send) =>
    new OwnerMail({
      redis: stack.redis,
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
