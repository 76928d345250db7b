import { expect } from 'chai';
import { startWebhookRelay, type WebhookRelay } from '../../../../cli/listener/webhook-relay.ts';
import { type Receiver, startReceiver } from '../../../console/support/receiver.ts';

describe('the local receiver of webhooks', () => {
  const lines: string[] = [];
  let relay: WebhookRelay | undefined;
  let receiver: Receiver | undefined;
  afterEach(async () => {
    receiver?.stop();
    await relay?.close();
    lines.length = 0;
  });
  const start = async (target: string | null, secret: string | null = null) => {
    relay = await startWebhookRelay({ target, secret, host: '127.0.0.1', print: (line) => lines.push(line) });
    return relay;
  };
  const deliver = (body: string, headers = {}) =>
    fetch(relay!.url, {
      method: 'POST',
      body,
      headers: { 'x-service-event': 'request.completed', ...headers },
    });

  it('passes on headers and bytes as they are, and the answer of the target', async () => {
    receiver = await startReceiver();
    receiver.status = 503;
    await start(receiver.url);
    const body = '{ "a":  1 }';
    expect((await deliver(body, { 'webhook-id': 'evt_1' })).status).to.equal(503);
    expect(receiver.received[0]!.body).to.equal(body);
    expect(receiver.received[0]!.headers).to.include({ 'webhook-id': 'evt_1' });
    expect(lines.join('\n'))
      .to.match(/#1 {2}request\.completed/)
      .and.to.include('answered 503');
  });

  it('replays a delivery by its number, and the latest without one', async () => {
    receiver = await startReceiver();
    const { replay } = await start(receiver.url);
    await deliver('"first"');
    await deliver('"second"');
    await replay(1);
    await replay();
    await replay(7);
    expect(receiver.received.map(({ body }) => body)).to.deep.equal([
      '"first"',
      '"second"',
      '"first"',
      '"second"',
    ]);
    expect(lines.at(-1)).to.include('#7 is no longer kept');
  });

  it('answers 502 where nothing listens, so that Berth tries again', async () => {
    receiver = await startReceiver();
    const { url } = receiver;
    receiver.stop();
    await start(url);
    expect((await deliver('{}')).status).to.equal(502);
    expect(lines.join('\n')).to.include('did not respond');
  });

  it('says which deliveries are not signed with the secret', async () => {
    await start(null, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    expect((await deliver('{}')).status).to.equal(200);
    expect(lines[0]).to.include('WRONG SIGNATURE');
  });

  it('prints nothing that moves the cursor', async () => {
    await start(null);
    await deliver('{"a":"\\u001b[2J"}', { 'x-service-event': 'x\u0080' });
    await deliver('\u001b[2J');
    await deliver('{"a":"\u009b2J\u007f é"}');
    expect(lines.filter((line) => /[\x00-\x1f\x7f-\x9f]/.test(line))).to.deep.equal([]);
    expect(lines.join('\n')).to.include('"\\u009b2J\\u007f é"');
  });

  it('takes no more than 1 MiB', async () => {
    await start(null);
    expect((await deliver('x'.repeat(1024 * 1024 + 1))).status).to.equal(400);
  });
});
