import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { readFrontEnvironment } from '../../../gateway/environment/environment.ts';
import { createMailer, MailDeferredError, type Mailer } from '../../../gateway/webhooks/mailer.ts';
import { pollUntil } from '../../support/poll.ts';

class MailServer {
  readonly server: SMTPServer;
  password = 'first';
  subjects: string[] = [];
  /** Messages are taken once it resolves. */
  gate: Promise<void> = Promise.resolve();
  connections = 0;

  constructor() {
    this.server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onConnect: (_, done) => {
        this.connections += 1;
        done();
      },
      onClose: () => {
        this.connections -= 1;
      },
      onAuth: ({ password }, _, done) =>
        password === this.password ? done(null, { user: 'berth' }) : done(new Error('wrong password')),
      onData: async (stream, _, done) => {
        let text = '';
        for await (const chunk of stream) text += chunk;
        await this.gate;
        this.subjects.push(/^Subject: (.*)$/m.exec(text)![1]!.trim());
        done();
      },
    });
  }

  async start(): Promise<this> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }
  url(password = this.password): string {
    return `smtp://berth:${password}@127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }
  stop = () => new Promise<void>((resolve) => this.server.close(resolve));
}

describe('the mail server of a Secret that changes while a front runs', () => {
  let folder: string;
  let servers: MailServer[];
  let first: MailServer;
  let second: MailServer;
  let mailer: Mailer;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-mail-'));
    servers = [await new MailServer().start(), await new MailServer().start()];
    [first, second] = servers as [MailServer, MailServer];
    writeFileSync(join(folder, 'master-key'), 'master');
    write(first.url());
    const { mail } = readFrontEnvironment({
      GATEWAY_REDIS_URL: 'redis:6379',
      GATEWAY_SECRET_PATH: folder,
      GATEWAY_MAIL_FROM: 'berth@example.com',
    });
    mailer = createMailer(mail!);
  });
  afterEach(async () => {
    mailer.close();
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  });

  /** As a kubelet does: at once, under the same name. */
  const write = (url: string) => {
    writeFileSync(join(folder, 'new'), `${url}\n`);
    renameSync(join(folder, 'new'), join(folder, 'smtp-url'));
  };
  const send = (subject: string) => mailer.send('owner@example.com', { subject, text: 'text' });
  const sendInVain = async (subject: string) => {
    const error = await send(subject).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(MailDeferredError);
    return String(error.message);
  };

  it('is asked with its new password for the next message, and the one before is not lost', async () => {
    first.password = 'second';
    await sendInVain('one');
    write(first.url());
    await send('one');
    expect(first.subjects).to.deep.equal(['one']);
  });

  it('is left for another one, whose turn comes with the next message', async () => {
    await send('one');
    write(second.url());
    await send('two');
    expect([first.subjects, second.subjects]).to.deep.equal([['one'], ['two']]);
    await pollUntil(() => first.connections === 0, 'the end of what was open');
  });

  it('takes what it was given before it changed', async () => {
    let open = () => {};
    first.gate = new Promise((resolve) => {
      open = resolve;
    });
    // More than may be under way at once.
    const earlier = ['one', 'two', 'three', 'four'].map(send);
    await pollUntil(() => first.connections === 2, 'messages under way');
    write(second.url());
    await send('five');
    open();
    await Promise.all(earlier);
    expect(first.subjects.sort()).to.deep.equal(['four', 'one', 'three', 'two']);
    expect(second.subjects).to.deep.equal(['five']);
    await pollUntil(() => first.connections === 0, 'the end of what was open');
  });

  it('is waited for while the Secret names none, without a word of what it says', async () => {
    write('http://berth:hidden@127.0.0.1');
    expect(await sendInVain('one'))
      .to.match(/smtp-url/)
      .and.not.match(/hidden/);
    rmSync(join(folder, 'smtp-url'));
    await sendInVain('one');
    write(first.url());
    await send('one');
    expect(first.subjects).to.deep.equal(['one']);
  });
});
