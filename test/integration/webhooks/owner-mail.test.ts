import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { deliveryKeys } from '../../../contract/redis-keys.ts';
import { createLog } from '../../../gateway/log.ts';
import { createMailer, type Mailer } from '../../../gateway/webhooks/mailer.ts';
import { OwnerMail } from '../../../gateway/webhooks/owner-mail.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import type { AbandonedCallback } from '../../../redis/owner-mail.ts';
import { connectTo, until } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('mail to the owner of a workspace', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let smtp: SMTPServer;
  let mailer: Mailer;
  let namespace: string;
  let count = 0;
  let owner: string | null;
  const messages: { to: string[]; text: string }[] = [];

  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        stream.on('end', () => {
          messages.push({ to: session.envelope.rcptTo.map(({ address }) => address), text });
          done();
        });
      },
    });
    const listening = smtp.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = smtp.server.address() as AddressInfo;
    mailer = createMailer({ url: `smtp://127.0.0.1:${port}`, from: 'berth@example.com' });
  });
  beforeEach(() => {
    namespace = `space-${++count}`;
    owner = 'owner@example.com';
    messages.length = 0;
  });
  after(async () => {
    mailer?.close();
    await new Promise<void>((resolve) => smtp.close(resolve));
    await connection?.close();
    await server?.stop();
  });

  const start = () =>
    new OwnerMail({
      redis: connection.redis,
      readOwner: async () => owner,
      send: mailer.send,
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
        ...fields,
      };
      await connection.redis.zadd(deliveryKeys(namespace).mail, i, JSON.stringify(callback));
    }
  };
  const run = async (ownerMail = start()) => {
    ownerMail.wake(namespace);
    await ownerMail.close();
  };

  it('tells what failed and where, and nothing that is secret', async () => {
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

  it('tells of a delivery once, whichever front comes', async () => {
    await add(1);
    await Promise.all([run(), run()]);
    await add(1);
    await run();
    expect(messages).to.have.length(1);
    expect(await connection.redis.zcard(deliveryKeys(namespace).mail)).to.equal(0);
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
    await connection.redis.del(deliveryKeys(namespace).mails);
    await run(ownerMail);
    expect(messages).to.have.length(21);
    expect(messages[20]!.text).to.include('10 more callbacks');
  });

  it('tells nobody where nobody is named', async () => {
    owner = null;
    await add(1);
    await run();
    expect(messages).to.deep.equal([]);
    expect(await connection.redis.zcard(deliveryKeys(namespace).mail)).to.equal(0);
  });

  it('goes on where the server refuses a message', async () => {
    await add(2);
    let calls = 0;
    const ownerMail = new OwnerMail({
      redis: connection.redis,
      readOwner: async () => owner,
      send: async (...message) => {
        if (calls++ === 0) throw new Error('greylisted');
        await mailer.send(...message);
      },
      log: createLog('silent', {}),
    });
    await run(ownerMail);
    await until(() => messages.length === 1, 'the second message');
  });
});
