import { expect } from 'chai';
import { TestStack } from '../../support/test-stack.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';

const CHUNK = '{"id":"a","object":"chat.completion.chunk","created":1,"model":"m"';
const FRAMES = [
  `${CHUNK},"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
  `${CHUNK},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
  '[DONE]',
].map((frame) => `data: ${frame}\n\n`);

describe('the service level objectives of a deployment', () => {
  let stack: TestStack;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let fault: 'none' | 'status' | 'cut' = 'none';

  before(async () => {
    stack = await TestStack.start();
    engine = await startScriptedEngine((req, res) => {
      req.resume();
      req.on('end', () => {
        res.writeHead(fault === 'status' ? 500 : 200, { 'content-type': 'text/event-stream' });
        if (fault === 'cut') res.write(FRAMES[0]!, () => res.destroy());
        else res.end(FRAMES.join(''));
      });
    });
  });
  after(async () => {
    await engine?.stop();
    await stack?.stop();
  });

  const serve = (slo: TextEndpoint['config']['slo'], more: Partial<TextEndpoint['config']> = {}) =>
    startTextEndpoint({
      connection: stack.connection,
      engineURL: engine.url,
      settings: { ...(slo && { slo }), ...more },
    });
  const ask = async ({ origin }: TextEndpoint, key: string, body: object = {}) => {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true, ...body }),
    });
    await response.text();
  };
  const read = async ({ metrics }: TextEndpoint) =>
    Object.fromEntries(
      [
        ...(await metrics.render()).matchAll(
          /^berth_slo_requests_total\{objective="(\w+)",outcome="(\w+)"\} (\d+)$/gm,
        ),
      ].map(([, objective, outcome, count]) => [`${objective} ${outcome}`, Number(count)]),
    );

  it('count what was served and what was not, and nothing that its callers got wrong', async () => {
    const endpoint = await serve({ availability: 0.99 });
    try {
      const key = await endpoint.makeKey();
      fault = 'none';
      await ask(endpoint, key);
      await ask(endpoint, key, { messages: 'wrong' });
      await ask(endpoint, await endpoint.makeKey({ rpm: 0 }));
      await ask(endpoint, 'sk-unknown');
      fault = 'status';
      await ask(endpoint, key);
      fault = 'cut';
      await ask(endpoint, key);
      expect(await read(endpoint)).to.deep.equal({ 'availability good': 1, 'availability bad': 2 });
    } finally {
      await endpoint.stop();
    }
  });

  it('count streams by the time to their first token, and none that failed', async () => {
    const endpoint = await serve({ timeToFirstToken: { withinMs: 60_000 } });
    const hopeless = await serve({ timeToFirstToken: { withinMs: 0 } });
    try {
      for (const each of [endpoint, hopeless]) {
        const key = await each.makeKey();
        fault = 'none';
        await ask(each, key);
        fault = 'status';
        await ask(each, key);
      }
      expect(await read(endpoint)).to.deep.equal({
        'time_to_first_token good': 1,
        'time_to_first_token bad': 0,
      });
      expect(await read(hopeless)).to.include({ 'time_to_first_token bad': 1 });
    } finally {
      await endpoint.stop();
      await hopeless.stop();
    }
  });

  it('are missed by nothing that its owner has stopped, and are none where none are given', async () => {
    const paused = await serve({ availability: 0.99 }, { paused: true });
    const plain = await serve(undefined);
    try {
      fault = 'none';
      for (const each of [paused, plain]) {
        await ask(each, await each.makeKey());
        expect(await read(each)).to.deep.equal({});
      }
    } finally {
      await paused.stop();
      await plain.stop();
    }
  });
});
