import { expect } from 'chai';
import { DEFAULT_SETTINGS } from '../../../simulator/settings.ts';
import { chatOf, type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

describe('the control port', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ settings: { tokens: 20 } });
  });
  afterEach(() => simulator.reset());
  after(() => simulator.stop());

  it('returns settings and counters', async () => {
    expect(await simulator.readControl()).to.deep.equal({
      settings: { ...DEFAULT_SETTINGS, tokens: 20 },
      inflight: 0,
      requests: 0,
      aborted: 0,
      last: null,
      recent: [],
    });
  });

  it('records inference calls, with the first 100 characters of the prompt', async () => {
    const before = Date.now();
    const body = chatOf('x'.repeat(200));
    await simulator.post('/v1/chat/completions', body, { headers: { 'x-trace': 'abc' } });
    const { requests, last, recent } = await simulator.readControl();
    expect(requests).to.equal(1);
    expect(last).to.deep.include({ method: 'POST', path: '/v1/chat/completions', body });
    expect(last!.headers['x-trace']).to.equal('abc');
    expect(recent).to.have.lengthOf(1);
    expect(recent[0]).to.include({ method: 'POST', path: '/v1/chat/completions', prompt: 'x'.repeat(100) });
    expect(recent[0]!.at).to.be.within(before, Date.now());
  });

  const prompts: [why: string, path: string, body: object, prompt: string | undefined][] = [
    [
      'the latest user message',
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'user', content: 'b' },
          { role: 'tool', content: 'c' },
        ],
      },
      'b',
    ],
    [
      'a text part',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'd' }] }] },
      'd',
    ],
    ['a prompt', '/v1/completions', { prompt: 'e' }, 'e'],
    ['the first of several prompts', '/v1/completions', { prompt: ['f', 'g'] }, 'f'],
    ['an input', '/v1/embeddings', { input: 'h' }, 'h'],
    ['none where there is none', '/v1/chat/completions', {}, undefined],
  ];
  for (const [why, path, body, prompt] of prompts)
    it(`shows as prompt ${why}`, async () => {
      await simulator.post(path, body);
      expect((await simulator.readControl()).recent[0]!.prompt).to.equal(prompt);
    });

  it('records a body that is no JSON as text', async () => {
    await simulator.post('/v1/completions', '{broken');
    expect((await simulator.readControl()).last!.body).to.equal('{broken');
  });

  it('counts neither health checks nor model lists nor unknown routes', async () => {
    for (const path of ['/health', '/v1/models', '/metrics', '/nowhere']) await fetch(simulator.url + path);
    expect(await simulator.readControl()).to.deep.include({ requests: 0, recent: [], last: null });
  });

  it('keeps the latest 1,000 calls', async () => {
    const post = (index: number): Promise<unknown> =>
      simulator
        .post('/v1/completions', { prompt: `${index}`, max_tokens: 1 })
        .then((response) => response.text());
    for (let done = 0; done < 1010; done += 10)
      await Promise.all([...Array(10).keys()].map((one) => post(done + one)));
    const { requests, recent } = await simulator.readControl();
    expect(requests).to.equal(1010);
    expect(recent).to.have.lengthOf(1000);
    expect(Number(recent.at(-1)!.prompt)).to.be.within(1000, 1009);
  });

  it('merges settings, fractional times included', async () => {
    await simulator.putControl({ ttftMs: 0.5 });
    const response = await simulator.putControl({ itlMs: 0.25, healthy: false });
    expect(response.status).to.equal(200);
    const { settings } = await simulator.readControl();
    expect(settings).to.deep.equal({
      ...DEFAULT_SETTINGS,
      tokens: 20,
      ttftMs: 0.5,
      itlMs: 0.25,
      healthy: false,
    });
  });

  it('goes back to the start settings and to counters of zero', async () => {
    await simulator.putControl({ tokens: 3, fault: { kind: 'oom' } });
    await simulator.post('/v1/completions', { prompt: 'x' });
    await simulator.reset();
    expect(await simulator.readControl()).to.deep.include({
      settings: { ...DEFAULT_SETTINGS, tokens: 20 },
      requests: 0,
      last: null,
    });
  });

  describe('names the field and what it may be', () => {
    const cases: [body: unknown, param: string | null, message: RegExp][] = [
      [{ ttftMs: '5' }, 'ttftMs', /ttftMs must be a number of milliseconds .*got "5"/],
      [{ itlMs: -1 }, 'itlMs', /itlMs must be .*got -1/],
      [{ tokens: 0 }, 'tokens', /tokens must be a whole number from 1/],
      [{ jobSeconds: null }, 'jobSeconds', /jobSeconds must be a number of seconds/],
      [{ maxConcurrency: 1.5 }, 'maxConcurrency', /maxConcurrency must be a whole number/],
      [{ healthy: 'yes' }, 'healthy', /healthy must be true or false/],
      [{ faultTimes: -2 }, 'faultTimes', /faultTimes must be a whole number from -1/],
      [{ fault: 'oom' }, 'fault', /fault must be null or an object with a kind/],
      [{ fault: { kind: 'explode' } }, 'fault.kind', /fault.kind must be one of status, drop/],
      [{ fault: { kind: 'status' } }, 'fault.status', /fault.status must be .*it is missing/],
      [{ fault: { kind: 'status', status: 700 } }, 'fault.status', /200 to 599/],
      [{ fault: { kind: 'drop', afterFrames: -1 } }, 'fault.afterFrames', /fault.afterFrames must be/],
      [{ fault: { kind: 'error-frame', shape: 'round' } }, 'fault.shape', /one of nested, flat, detail/],
      [
        { fault: { kind: 'oom', status: 500 } },
        'fault.status',
        /fault.status is unknown; a oom fault takes kind/,
      ],
      [{ speed: 1 }, 'speed', /speed is unknown; settings are ttftMs, itlMs/],
      [[], null, /must be a JSON object/],
      [null, null, /must be a JSON object/],
    ];
    for (const [body, param, message] of cases)
      it(`in ${JSON.stringify(body)}`, async () => {
        const response = await simulator.putControl(body);
        expect(response.status).to.equal(400);
        const { error } = (await response.json()) as { error: { param: unknown; message: string } };
        expect(error.message).to.match(message);
        expect(error.param).to.equal(param);
        expect((await simulator.readControl()).settings).to.deep.equal({ ...DEFAULT_SETTINGS, tokens: 20 });
      });
  });

  it('refuses a body that is no JSON', async () => {
    const response = await fetch(simulator.controlURL, { method: 'PUT', body: '{' });
    expect(response.status).to.equal(400);
  });

  it('serves nothing else', async () => {
    expect((await fetch(`${simulator.controlURL}/x`)).status).to.equal(404);
    const response = await fetch(simulator.controlURL, { method: 'POST' });
    expect(response.status).to.equal(405);
    expect(response.headers.get('allow')).to.equal('GET, PUT, DELETE');
  });
});
