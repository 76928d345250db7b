import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const CHAT = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const CHUNK = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };

describe('an engine that closes a connection as a request is written to it', () => {
  let fixture: TextFixture;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let endpoint: TextEndpoint;
  let bodies: string[];
  const used = new WeakSet<object>();

  const answer: RequestListener = async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    bodies.push(body);
    if (used.has(req.socket)) {
      req.socket.destroy();
      return;
    }
    used.add(req.socket);
    const isStream = JSON.parse(body).stream === true;
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    res.end(isStream ? `data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n` : JSON.stringify(CHAT));
  };
  before(async () => {
    fixture = await startTextFixture();
  });
  beforeEach(async () => {
    bodies = [];
    engine = await startScriptedEngine(answer);
    endpoint = await startTextEndpoint({ connection: fixture.connection, engineURL: engine.url });
  });
  afterEach(async () => {
    await endpoint.stop();
    await engine.stop();
  });
  after(() => fixture?.stop());

  const chat = async (stream: boolean) =>
    fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await endpoint.makeKey()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream }),
    });
  const count = async () =>
    (await endpoint.metrics.resent.get()).values.map(({ value, labels }) => [labels.to, value]);

  for (const stream of [false, true])
    it(`serves the request on a fresh connection, and counts it (${stream ? 'streamed' : 'whole'})`, async () => {
      await pollUntil(async () => {
        const response = await chat(stream);
        expect(response.status).to.equal(200);
        expect(await response.text()).to.match(stream ? /"content":"Hi".*\[DONE\]/s : /"content":"Hi"/);
        return (await count()).length > 0;
      }, 'a request on a connection that was used before');
      expect(await count()).to.deep.equal([['engine', 1]]);
      expect(bodies.at(-1)).to.equal(bodies.at(-2));
    });
});
