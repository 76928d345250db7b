import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const COMMENT = ': waiting for the engine\n\n';
const ROUTES: [path: string, body: object, notice: string][] = [
  ['/v1/chat/completions', { messages: MESSAGES }, COMMENT],
  ['/v1/completions', { prompt: 'Hi' }, COMMENT],
  ['/v1/responses', { input: 'Hi' }, COMMENT],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }, 'event: ping\ndata: {"type":"ping"}\n\n'],
];

describe('a stream whose prompt takes the engine long', () => {
  let fixture: TextFixture;
  beforeEach(async () => {
    fixture = await startTextFixture({ limits: { streamKeepAliveMs: 1_000 } });
  });
  afterEach(() => fixture.stop());

  /** The text up to the first notice, then the rest. */
  async function readBegun(path: string, body: object) {
    const response = await fixture.post(path, { ...body, stream: true, max_tokens: 5 });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const { value: begin = '' } = await reader.read();
    const readRest = async () => {
      let text = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
      return text;
    };
    return { status: response.status, begin, readRest };
  }

  for (const [path, body, notice] of ROUTES)
    it(`gets a notice before its events: ${path}`, async () => {
      await fixture.simulator.putControl({ ttftMs: 1_500 });
      const { status, begin, readRest } = await readBegun(path, body);
      expect([status, begin]).to.deep.equal([200, notice]);
      const rest = await readRest();
      const events = rest.slice(rest.search(/data: \{"(?!type":"ping)/));
      expect(events.includes(COMMENT)).to.equal(false);
      expect(rest).to.match(/data: \[DONE\]\n\n$|response\.completed|message_stop/);
    });

  for (const [path, body, notice] of ROUTES)
    it(`ends with an error event if its engine fails after that: ${path}`, async () => {
      await fixture.simulator.putControl({ ttftMs: 60_000 });
      const { begin, readRest } = await readBegun(path, body);
      expect(begin).to.equal(notice);
      await fixture.simulator.stop();
      expect(await readRest()).to.match(/data: \{[^\n]*"error"[^\n]*\n\n$/);
    });

  it('has the status of an error that comes before the first notice', async () => {
    await fixture.simulator.putControl({ ttftMs: 0 });
    const response = await fixture.chat({ stream: true, temperature: 'hot' });
    expect(response.status).to.equal(400);
    await response.text();
  });

  it('ends the work of the engine when its client leaves', async () => {
    await fixture.simulator.putControl({ ttftMs: 60_000 });
    const leaving = new AbortController();
    const response = await fixture.chat({ stream: true }, { signal: leaving.signal });
    expect(response.status).to.equal(200);
    leaving.abort();
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 0, 'the end');
  });
});
