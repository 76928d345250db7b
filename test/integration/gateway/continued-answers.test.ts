import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { Acquisition, EngineTarget } from '../../../gateway/capacity/capacity.ts';
import { processBodies } from '../../../gateway/http/body-memory.ts';
import type { Clock } from '../../../kit/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startScriptedEngine, startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';

type Body = Record<string, unknown> & { messages: { role: string; content: string }[] };
/** What an engine does with one request. */
type Script = (res: ServerResponse, body: Body) => void;

const MODEL = 'berth/chat';
const head = { id: 'made-by-engine', object: 'chat.completion.chunk', created: 1, model: MODEL };
const format = (payload: object) => `data: ${JSON.stringify(payload)}\n\n`;
const say = (delta: object, finish: string | null = null) =>
  format({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
const tell = (input: number, output: number) =>
  format({
    ...head,
    choices: [],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  });
const DONE = 'data: [DONE]\n\n';
const begin = (res: ServerResponse, ...frames: string[]) => {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(frames.join(''));
};
const die = (res: ServerResponse) => setImmediate(() => res.destroy());

/** Sends this and ends the connection. */
const breakAfter =
  (...frames: string[]): Script =>
  (res) => {
    begin(res, say({ role: 'assistant', content: '' }), ...frames);
    die(res);
  };
/** Sends this and ends the stream properly. */
const answer =
  (...frames: string[]): Script =>
  (res) => {
    begin(res, say({ role: 'assistant', content: '' }), ...frames, say({}, 'stop'), tell(12, 2), DONE);
    res.end();
  };

/** The first pause, of random length, is over at once. */
const withoutJitter = (clock: FakeClock): Clock => ({
  now: clock.now,
  date: clock.date,
  after: (ms, callback) => {
    if (ms > 100) return clock.after(ms, callback);
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  },
});

/** Another replica, which takes no connections. */
const GONE = { origin: 'http://127.0.0.1:1', local: false };

interface Outcome {
  status: number;
  text: string;
  finishes: string[];
  isWhole: boolean;
  error: string | null;
  usage: Record<string, unknown> | null;
}

async function read(response: Response): Promise<Outcome> {
  const whole = await response.text();
  const frames = whole.split('\n\n').flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice(6)] : []));
  const payloads = frames.filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame));
  const choices = payloads.flatMap((payload) => payload.choices ?? []);
  return {
    status: response.status,
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    finishes: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    isWhole: frames.at(-1) === '[DONE]',
    error: payloads.find(({ error }) => error)?.error.message ?? null,
    usage: payloads.findLast(({ usage }) => usage)?.usage ?? null,
  };
}

describe('a stream that its engine breaks', () => {
  let stack: TestStack;
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let endpoint: TextEndpoint;
  let key: string;
  let scripts: Script[];
  let requests: Body[];
  /** Places for the next parts. */
  let findPlace: (signal: AbortSignal) => Acquisition | Promise<Acquisition>;
  let taken: number;
  let clock: FakeClock;

  const makeTarget = (): EngineTarget => {
    taken++;
    let isHeld = true;
    const release = () => {
      if (isHeld) taken--;
      isHeld = false;
    };
    return { origin: engine.url, pathPrefix: '', headers: {}, local: true, release };
  };
  const start = (settings: object = { continueStreams: true }, more: object = {}) =>
    startTextEndpoint({
      connection: stack.connection,
      engineURL: engine.url,
      settings: { modelId: MODEL, servedModelName: MODEL, enginePreset: 'vllm', ...settings },
      capacity: {
        acquire: (signal) => (requests.length === 0 ? { target: makeTarget() } : findPlace(signal)),
        acquireElsewhere: (_, signal) => findPlace(signal),
      },
      clocks: { waits: withoutJitter(clock) },
      ...more,
    });
  const ask = (body: object = {}, init: RequestInit = {}) =>
    fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true, ...body }),
      ...init,
    });
  const chat = async (body: object = {}): Promise<Outcome> => read(await ask(body));
  const readOutcomes = async () => {
    const { values } = await endpoint.metrics.continuedStreams.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
  };
  const readTokens = async () => {
    const day = Math.floor(Date.now() / 86_400_000);
    const name = workKeys(endpoint.config.namespace).tpd(hashApiKey(key), day);
    return Number((await stack.redis.get(name)) ?? 0);
  };

  before(async () => {
    stack = await TestStack.start();
    engine = await startScriptedEngine((req: IncomingMessage, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
        requests.push(body);
        scripts.shift()!(res, body);
      });
    });
  });
  after(async () => {
    await engine?.stop();
    await stack?.stop();
  });
  beforeEach(async () => {
    scripts = [];
    requests = [];
    taken = 0;
    clock = new FakeClock();
    findPlace = () => ({ target: makeTarget() });
    endpoint = await start();
    key = await endpoint.makeKey();
  });
  afterEach(async () => {
    await pollUntil(() => taken === 0, 'all places to be free');
    await endpoint.stop();
  });

  const ways: [string, Script][] = [
    ['dies', breakAfter(say({ content: 'One' }))],
    [
      'ends without a last word',
      (res) => {
        begin(res, say({ content: 'One' }));
        res.end();
      },
    ],
    [
      'aborts what is in flight',
      (res) => {
        begin(res, say({ content: 'One' }), say({ content: '' }, 'abort'), DONE);
        res.end();
      },
    ],
    [
      'fails',
      (res) => {
        begin(
          res,
          say({ content: 'One' }),
          format({ error: { message: 'EngineCore died', code: 500 } }),
          DONE,
        );
        res.end();
      },
    ],
  ];
  for (const [name, script] of ways)
    it(`goes on at another one when it ${name}`, async () => {
      scripts = [script, answer(say({ content: ' two' }))];
      expect(await chat()).to.deep.include({
        status: 200,
        text: 'One two',
        finishes: ['stop'],
        isWhole: true,
        error: null,
      });
      expect(requests[1]).to.deep.include({ continue_final_message: true, add_generation_prompt: false });
      expect(requests[1]!.messages.at(-1)).to.deep.equal({ role: 'assistant', content: 'One' });
      expect(await readOutcomes()).to.deep.equal({ completed: 1 });
    });

  it('is charged once: the prompt as the first engine read it, and all that was said', async () => {
    const continuous = { usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } };
    const first = { ...head, choices: [{ index: 0, delta: { content: 'One' } }], ...continuous };
    scripts = [breakAfter(format(first)), answer(say({ content: ' two' }))];
    const { usage } = await chat({ stream_options: { include_usage: true }, max_tokens: 20 });
    expect(usage).to.include({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
    expect(requests[0]!.stream_options).to.deep.equal({ include_usage: true, continuous_usage_stats: true });
    expect(requests[1]!.max_tokens).to.equal(17);
    await pollUntil(async () => (await readTokens()) > 0, 'the settlement');
    expect(await readTokens()).to.equal(15);
  });

  it('asks nobody when only the last words are missing', async () => {
    scripts = [breakAfter(say({ content: 'One' }), say({}, 'stop'))];
    const outcome = await chat({ stream_options: { include_usage: true } });
    expect(outcome).to.deep.include({ text: 'One', finishes: ['stop'], isWhole: true, error: null });
    expect(outcome.usage).to.include({ completion_tokens: 1 });
    expect(requests).to.have.length(1);
  });

  it('asks nobody when all tokens that the client wanted are there', async () => {
    scripts = [breakAfter(say({ content: 'One' }), say({ content: ' two' }), tell(12, 2))];
    expect(await chat({ max_tokens: 2 })).to.deep.include({
      text: 'One two',
      finishes: ['length'],
      isWhole: true,
    });
    expect(requests).to.have.length(1);
  });

  it('tells usage once', async () => {
    scripts = [breakAfter(say({ content: 'One' }), say({}, 'stop'), tell(12, 1))];
    const response = await ask({ stream_options: { include_usage: true } });
    expect((await response.text()).match(/"usage":\{/g)).to.have.length(1);
  });

  it('begins again when nothing but its head has been sent', async () => {
    scripts = [breakAfter(), answer(say({ content: 'One' }))];
    expect(await chat()).to.deep.include({ text: 'One', finishes: ['stop'], isWhole: true });
    expect(requests[1]).to.deep.equal(requests[0]);
  });

  it('ends at a stop string that spans both parts, and lets the engine go', async () => {
    let isClosed = false;
    scripts = [
      breakAfter(say({ content: 'One E' })),
      (res) => {
        res.on('close', () => {
          isClosed = true;
        });
        begin(res, say({ content: 'ND two' }));
      },
    ];
    expect(await chat({ stop: 'END' })).to.deep.include({ text: 'One E', finishes: ['stop'], isWhole: true });
    await pollUntil(() => isClosed, 'the engine to be free');
  });

  describe('ends with the error event', () => {
    const expectError = async (body: object = {}, text = 'One') => {
      const outcome = await chat(body);
      expect(outcome).to.deep.include({ status: 200, text, isWhole: false });
      expect(outcome.error).to.equal('The engine closed the connection before its response was complete.');
    };
    const broken = breakAfter(say({ content: 'One' }));

    it('where the deployment does not want it to go on', async () => {
      await endpoint.stop();
      endpoint = await start({});
      scripts = [broken];
      await expectError();
      expect(requests).to.have.length(1);
    });

    const others: [string, object][] = [
      ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
      ['a schema', { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } }],
      ['log probabilities', { logprobs: true }],
      ['several choices', { n: 2 }],
    ];
    for (const [name, body] of others)
      it(`of a chat with ${name}`, async () => {
        scripts = [broken];
        await expectError(body);
        expect(requests).to.have.length(1);
      });

    it('where the pod is about to be killed', async () => {
      await endpoint.stop();
      endpoint = await start(undefined, { isEnding: () => true });
      scripts = [broken];
      await expectError();
      expect(requests).to.have.length(1);
    });

    it('when the wait for a place lasts half a minute', async () => {
      findPlace = (signal) =>
        signal.aborted || clock.now() < 2_000
          ? { refusal: 'replica_saturated' }
          : new Promise((resolve) => {
              signal.addEventListener('abort', () => resolve({ refusal: 'replica_saturated' }));
            });
      scripts = [broken];
      const outcome = read(await ask());
      await pollUntil(() => clock.pending > 0, 'the pause');
      await clock.advance(30_000);
      expect(await outcome).to.deep.include({ text: 'One', isWhole: false });
    });

    it('in the middle of a thought', async () => {
      scripts = [breakAfter(say({ reasoning_content: 'Hm' }))];
      await expectError({}, '');
      expect(requests).to.have.length(1);
      expect(await readOutcomes()).to.deep.equal({ impossible: 1 });
    });

    it('after two continuations', async () => {
      scripts = [broken, breakAfter(say({ content: ' two' })), breakAfter(say({ content: ' three' }))];
      await expectError({}, 'One two three');
      expect(requests).to.have.length(3);
      expect(await readOutcomes()).to.deep.equal({ failed: 1 });
    });

    it('when the next engine dies of it, too', async () => {
      scripts = [broken, (res) => res.destroy()];
      await expectError();
      expect(requests).to.have.length(2);
    });

    it('when the next engine cannot go on', async () => {
      scripts = [
        broken,
        (res) => {
          res.writeHead(400, { 'content-type': 'application/json' });
          res.end(JSON.stringify({ error: { message: 'unknown field', code: 400 } }));
        },
      ];
      await expectError();
    });

    it('when the next engine thinks all over again', async () => {
      scripts = [broken, answer(say({ reasoning_content: 'Hm' }), say({ content: 'One' }))];
      await expectError();
    });

    it('when no engine has a place for half a minute', async () => {
      findPlace = () => ({ refusal: 'no_pod_available' });
      scripts = [broken];
      const response = await ask();
      const outcome = read(response);
      await pollUntil(() => clock.pending > 0, 'the pause');
      await clock.advance(25_000);
      expect(clock.pending).to.be.greaterThan(0);
      await clock.advance(6_000);
      expect(await outcome).to.deep.include({ text: 'One', isWhole: false });
    });
  });

  it('looks for another engine when the next one cannot be connected to', async () => {
    let isFirst = true;
    findPlace = () => {
      const target = makeTarget();
      if (isFirst) Object.assign(target, GONE);
      isFirst = false;
      return { target };
    };
    scripts = [breakAfter(say({ content: 'One' })), answer(say({ content: ' two' }))];
    const outcome = read(await ask());
    await pollUntil(() => clock.pending > 0, 'the pause');
    await clock.advance(250);
    expect(await outcome).to.deep.include({ text: 'One two', isWhole: true });
  });

  it('reserves memory for the next request once, however many engines cannot be connected to', async () => {
    const used: number[] = [];
    findPlace = () => {
      used.push(processBodies.used);
      const target = makeTarget();
      if (used.length < 6) Object.assign(target, GONE);
      return { target };
    };
    scripts = [breakAfter(say({ content: 'One' })), answer(say({ content: ' two' }))];
    const outcome = read(await ask({ messages: [{ role: 'user', content: 'x'.repeat(50_000) }] }));
    await pollUntil(() => clock.pending > 0, 'the pause');
    while (used.length < 6) {
      await clock.advance(2_000);
      await pollUntil(() => clock.pending > 0 || used.length === 6, 'the next pause');
    }
    expect(await outcome).to.deep.include({ text: 'One two', isWhole: true });
    expect(used[5]).to.equal(used[1]);
  });

  it('looks for another engine when the next one has no place', async () => {
    scripts = [
      breakAfter(say({ content: 'One' })),
      (res) => res.writeHead(429).end(),
      answer(say({ content: ' two' })),
    ];
    const outcome = read(await ask());
    await pollUntil(() => clock.pending > 0, 'the pause');
    await clock.advance(250);
    expect(await outcome).to.deep.include({ text: 'One two', isWhole: true });
  });

  it('counts a request that took too long', async () => {
    await endpoint.stop();
    endpoint = await start(undefined, { limits: { requestTimeoutMs: 300 } });
    key = await endpoint.makeKey();
    scripts = [(res) => begin(res, say({ content: 'One' }))];
    await chat();
    const { values } = await endpoint.metrics.engineErrors.get();
    expect(values.map(({ labels, value }) => [labels.reason, value])).to.deep.equal([['request_timeout', 1]]);
  });

  it('does not believe an engine that says that it was sent nothing', async () => {
    scripts = [
      breakAfter(say({ content: 'One' })),
      (res) => res.writeHead(400, { 'x-berth-unsent': '1' }).end(),
    ];
    expect(await chat()).to.deep.include({ text: 'One', isWhole: false });
    expect(requests).to.have.length(2);
  });

  it('waits for a place', async () => {
    findPlace = () => ({ refusal: 'replica_saturated' });
    scripts = [breakAfter(say({ content: 'One' })), answer(say({ content: ' two' }))];
    const outcome = read(await ask());
    await pollUntil(() => clock.pending > 0, 'the pause');
    await clock.advance(10_000);
    findPlace = () => ({ target: makeTarget() });
    await clock.advance(2_000);
    expect(await outcome).to.deep.include({ text: 'One two', isWhole: true });
  });

  it('asks nobody for a client that left', async () => {
    findPlace = () => ({ refusal: 'replica_saturated' });
    scripts = [breakAfter(say({ content: 'One' }))];
    const abort = new AbortController();
    await ask({}, { signal: abort.signal });
    await pollUntil(() => clock.pending > 0, 'the pause');
    abort.abort();
    findPlace = () => ({ target: makeTarget() });
    await pollUntil(() => clock.pending === 0, 'the end of the pause');
    await clock.advance(30_000);
    expect(requests).to.have.length(1);
  });

  it('is an error with a status of its own before anything was sent', async () => {
    scripts = [(res) => res.destroy()];
    expect((await ask()).status).to.equal(502);
    expect(requests).to.have.length(1);
  });
});
