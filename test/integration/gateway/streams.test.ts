import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { pollUntil } from '../../support/poll.ts';

import { startScriptedEngine, startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { MODEL, readStream } from '../../unit/simulator/running-simulator.ts';

describe('an answer', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());
  afterEach(async () => {
    await fixture.simulator.reset();
    expect(fixture.endpoint.slots.inflight).to.equal(0);
  });

  const readUsed = async (key: string): Promise<number> => {
    const { namespace } = fixture.endpoint.config;
    const sha256 = hashApiKey(key);
    return (await admit(fixture.connection.redis, { namespace, sha256, counted: 'no' })).tpd.used;
  };
  interface Event {
    model: string;
    choices: { delta: { content?: string } }[];
    usage?: { total_tokens: number };
    error?: { code: string; message: string };
  }
  const stream = async (body: object = {}, key?: string) => {
    const response = await fixture.chat({ stream: true, ...body }, { key });
    const { events, isDone } = await readStream(response);
    return { response, events: events as unknown as Event[], isDone };
  };

  it('is streamed with the deployment’s model id, without usage, to its [DONE]', async () => {
    const { response, events, isDone } = await stream({ max_tokens: 5 });
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    expect(response.headers.get('x-accel-buffering')).to.equal('no');
    expect(response.headers.get('x-ratelimit-remaining')).to.match(/^\d+$/);
    expect(isDone).to.equal(true);
    for (const event of events) {
      expect(event.model).to.equal('berth/chat');
      expect(event.choices).to.have.length(1);
      expect(event).to.not.have.property('usage');
    }
  });

  it('is streamed with usage to who asks for it', async () => {
    const { events } = await stream({ max_tokens: 5, stream_options: { include_usage: true } });
    expect(events.at(-1)!.choices).to.deep.equal([]);
    expect(events.at(-1)!.usage!.total_tokens).to.be.greaterThan(5);
  });

  it('is counted in tokens, whole or streamed', async () => {
    const key = await fixture.endpoint.makeKey();
    const whole = (await (await fixture.chat({ max_tokens: 7 }, { key })).json()) as Event;
    await pollUntil(
      async () => (await readUsed(key)) === whole.usage!.total_tokens,
      'the tokens of the whole answer',
    );
    await stream({ max_tokens: 7 }, key);
    await pollUntil(
      async () => (await readUsed(key)) === 2 * whole.usage!.total_tokens,
      'the tokens of the stream',
    );
  });

  it('that the client cuts is counted by what went out', async () => {
    await fixture.simulator.putControl({ itlMs: 5, tokens: 1000 });
    const key = await fixture.endpoint.makeKey();
    const abort = new AbortController();
    const response = await fixture.chat({ stream: true }, { key, signal: abort.signal });
    await response.body!.getReader().read();
    abort.abort();
    await pollUntil(async () => (await readUsed(key)) > 0, 'an estimate');
    expect(await readUsed(key)).to.be.below(500);
  });

  it('that the client cuts is counted by its text where frames carry several tokens', async () => {
    await fixture.simulator.putControl({ like: 'vllm', itlMs: 2, tokens: 10_000 });
    const key = await fixture.endpoint.makeKey();
    const abort = new AbortController();
    const response = await fixture.chat({ stream: true }, { key, signal: abort.signal });
    let bytes = 0;
    for await (const chunk of response.body!) {
      bytes += chunk.length;
      if (bytes > 5_000) break;
    }
    abort.abort();
    await pollUntil(async () => (await readUsed(key)) > 0, 'an estimate');
    // About 20 frames of 14 tokens.
    expect(await readUsed(key)).to.be.greaterThan(150);
  });

  it('costs what the deployment’s prices say', async () => {
    const { endpoint, connection } = fixture;
    const priced = await startTextEndpoint({
      connection,
      engineURL: fixture.simulator.url,
      settings: {
        namespace: 'priced',
        servedModelName: MODEL,
        pricing: { ...endpoint.config.pricing, perMillionInputTokens: 2e12, perMillionOutputTokens: 5e12 },
      },
    });
    const key = await priced.makeKey();
    const response = await fetch(`${priced.origin}/v1/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'one two three', max_tokens: 4 }),
    });
    const { usage } = (await response.json()) as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const expected = String(usage.prompt_tokens * 2e6 + usage.completion_tokens * 5e6);
    await pollUntil(
      async () => (await connection.redis.get('w:{priced}:credit')) === expected,
      `a debit of ${expected}`,
    );
    await priced.stop();
  });

  it('comes from an engine that sees no secret of the client', async () => {
    await fixture.chat({ max_tokens: 1, seed: 5, unknown: { field: [1] } });
    const { last } = await fixture.simulator.readControl();
    expect(last!.headers).to.not.have.property('authorization');
    expect(Object.keys(last!.headers).sort()).to.deep.equal(
      ['accept', 'connection', 'content-length', 'content-type', 'host', 'x-request-id'].sort(),
    );
    expect(last!.body).to.deep.include({ model: MODEL, seed: 5, unknown: { field: [1] } });
  });

  it('reaches a slow reader whole', async () => {
    await fixture.simulator.putControl({ tokens: 40_000 });
    const response = await fixture.chat({ stream: true });
    let bytes = 0;
    for await (const chunk of response.body!) {
      bytes += chunk.length;
      if (bytes % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (bytes > 4_000_000) break;
    }
    expect(bytes).to.be.greaterThan(4_000_000);
    await pollUntil(() => fixture.endpoint.slots.inflight === 0, 'the place to be free');
  });

  const AFTER = 3;
  const breaks: [string, object, RegExp][] = [
    ['drops the connection', { kind: 'drop', afterFrames: AFTER }, /closed the connection/],
    ['ends without [DONE]', { kind: 'end', afterFrames: AFTER }, /ended the stream/],
    [
      'sends a nested error',
      { kind: 'error-frame', afterFrames: AFTER, shape: 'nested' },
      /encountered an issue/,
    ],
    [
      'sends a flat error',
      { kind: 'error-frame', afterFrames: AFTER, shape: 'flat' },
      /encountered an issue/,
    ],
    ['sends a detail', { kind: 'error-frame', afterFrames: AFTER, shape: 'detail' }, /encountered an issue/],
  ];
  for (const [what, fault, message] of breaks)
    it(`ends with one error event when the engine ${what}`, async () => {
      await fixture.simulator.putControl({ fault, tokens: 10 });
      const { response, events, isDone } = await stream();
      expect(response.status).to.equal(200);
      expect(isDone).to.equal(false);
      const errors = events.filter(({ error }) => error);
      expect(errors).to.have.length(1);
      expect(events.indexOf(errors[0]!)).to.equal(AFTER);
      expect(errors[0]!.error!.code).to.equal('upstream_error');
      expect(errors[0]!.error!.message).to.match(message);
    });

  const refusals: [string, object, boolean, number, RegExp][] = [
    ['answers 500', { kind: 'status', status: 500 }, true, 502, /engine failed/],
    ['answers 500', { kind: 'status', status: 500 }, false, 502, /engine failed/],
    ['answers 500 with a text', { kind: 'status', status: 500, body: 'oh no' }, false, 502, /oh no/],
    [
      'answers 400',
      { kind: 'status', status: 400, body: { error: { message: 'too long' } } },
      true,
      400,
      /^too long$/,
    ],
    ['answers 429', { kind: 'status', status: 429 }, false, 429, /./],
    ['is out of memory', { kind: 'oom' }, true, 502, /out of memory/],
    ['is out of memory', { kind: 'oom' }, false, 502, /out of memory/],
    [
      'answers a stream with JSON',
      { kind: 'status', status: 200, body: { choices: [] } },
      true,
      502,
      /did not stream/,
    ],
    ['answers half a JSON', { kind: 'end' }, false, 502, /other than a JSON/],
    ['breaks off a whole answer', { kind: 'drop' }, false, 502, /closed the connection/],
    ['breaks off before the first frame', { kind: 'drop' }, true, 502, /engine/],
    ['ends before the first frame', { kind: 'end' }, true, 502, /ended the stream/],
    ['fails in its first frame', { kind: 'error-frame' }, true, 502, /encountered an issue/],
    [
      'answers 200 with an error',
      { kind: 'status', status: 200, body: { object: 'error', message: 'no' } },
      false,
      502,
      /no/,
    ],
  ];
  for (const [what, fault, isStream, status, message] of refusals)
    it(`is a ${status} when the engine ${what} (${isStream ? 'streamed' : 'whole'})`, async () => {
      await fixture.simulator.putControl({ fault, tokens: 10 });
      const error = await readEnvelope(await fixture.chat({ stream: isStream }));
      expect(error.status).to.equal(status);
      expect(error.message).to.match(message);
      expect(error.headers.get('content-type')).to.contain('application/json');
    });

  it('is a 502 when the engine accepts no connections', async () => {
    const gone = await startScriptedEngine(() => {});
    await gone.stop();
    const endpoint = await startTextEndpoint({ connection: fixture.connection, engineURL: gone.url });
    const response = await fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const error = await readEnvelope(response);
    expect([error.status, error.code]).to.deep.equal([502, 'upstream_error']);
    expect(endpoint.slots.inflight).to.equal(0);
    await endpoint.stop();
  });
});

describe('an overdue request', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ limits: { requestTimeoutMs: 300 } });
  });
  after(() => fixture?.stop());
  afterEach('frees the engine and its place', async () => {
    expect(fixture.endpoint.slots.inflight).to.equal(0);
    await pollUntil(
      async () => (await fixture.simulator.readControl()).inflight === 0,
      'the engine to be free',
    );
    await fixture.simulator.reset();
  });

  it('counts, so that no key goes on for ever with what takes too long', async () => {
    const key = await fixture.endpoint.makeKey({ rpm: 1 });
    await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 0 } });
    const late = await readEnvelope(await fixture.chat({}, { key }));
    expect([late.status, late.headers.get('x-ratelimit-remaining')]).to.deep.equal([504, '0']);
    expect((await fixture.chat({}, { key })).status).to.equal(429);
  });

  for (const isStream of [true, false])
    it(`gets 504 before the first byte, not to be retried (${isStream ? 'streamed' : 'whole'})`, async () => {
      await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 0 } });
      const error = await readEnvelope(await fixture.chat({ stream: isStream }));
      expect([error.status, error.code]).to.deep.equal([504, 'request_timeout']);
      expect(error.headers.get('x-should-retry')).to.equal('false');
    });

  it('gets the error event after the first byte', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 2 } });
    const { events, isDone } = await readStream(await fixture.chat({ stream: true }));
    expect(isDone).to.equal(false);
    expect(events).to.have.length(3);
    expect((events[2] as { error: { code: string } }).error.code).to.equal('request_timeout');
  });
});

describe('an answer of embeddings', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ kind: 'Embedding' });
  });
  after(() => fixture?.stop());

  interface Embeddings {
    model: string;
    data: { embedding: number[] | string }[];
    usage: { total_tokens: number };
  }
  const embed = async (body: object) =>
    (await (await fixture.post('/v1/embeddings', body)).json()) as Embeddings;

  it('is in floats unless base64 is asked for, and both say the same', async () => {
    const floats = await embed({ input: ['a ship', 'a berth'] });
    expect(floats.data).to.have.length(2);
    expect(floats.model).to.equal('berth/chat');
    const encoded = await embed({ input: 'a ship', encoding_format: 'base64' });
    const bytes = Buffer.from(encoded.data[0]!.embedding as string, 'base64');
    const numbers = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    expect(numbers).to.have.length(floats.data[0]!.embedding.length);
    expect(numbers[0]).to.be.closeTo((floats.data[0]!.embedding as number[])[0]!, 1e-6);
  });

  it('is given for token ids, too', async () => {
    expect((await embed({ input: [1, 2, 3] })).data).to.have.length(1);
  });

  it('does not come from a chat', async () => {
    const error = await readEnvelope(await fixture.chat());
    expect([error.status, error.code]).to.deep.equal([400, 'wrong_modality']);
  });
});
