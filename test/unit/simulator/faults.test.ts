import { expect } from 'chai';
import type { Fault } from '../../../simulator/settings.ts';
import { pollUntil } from '../../support/poll.ts';
import {
  chatOf,
  type RunningSimulator as Running,
  RunningSimulator,
  readStream,
} from './running-simulator.ts';

const PATH = '/v1/chat/completions';
const BODY = chatOf('Hello');
const STREAM = chatOf('Hello', { stream: true });

describe('the faults of the simulator', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  afterEach(() => simulator.reset());
  after(() => simulator.stop());

  const setFault = async (fault: Fault, faultTimes = 1): Promise<void> => {
    expect((await simulator.putControl({ fault, faultTimes })).status).to.equal(200);
  };

  const statuses: [why: string, fault: Fault, type: string, text: string | RegExp][] = [
    ['an object as JSON', { kind: 'status', status: 503, body: { a: 1 } }, 'application/json', '{"a":1}'],
    ['a list as JSON', { kind: 'status', status: 422, body: [1] }, 'application/json', '[1]'],
    [
      'a string as it is',
      { kind: 'status', status: 502, body: '<b>Bad Gateway</b>' },
      'text/plain',
      '<b>Bad Gateway</b>',
    ],
    ["an engine's error without a body", { kind: 'status', status: 500 }, 'application/json', /"code":500/],
  ];
  for (const [why, fault, type, text] of statuses)
    for (const body of [BODY, STREAM])
      it(`status answers ${why}${body === STREAM ? ' to a stream' : ''}`, async () => {
        await setFault(fault);
        const response = await simulator.post(PATH, body);
        expect(response.status).to.equal((fault as { status: number }).status);
        expect(response.headers.get('content-type')).to.contain(type);
        const answered = await response.text();
        if (text instanceof RegExp) expect(answered).to.match(text);
        else expect(answered).to.equal(text);
      });

  for (const body of [BODY, STREAM])
    it(`oom says what a GPU engine says${body === STREAM ? ' to a stream' : ''}`, async () => {
      await setFault({ kind: 'oom' });
      const response = await simulator.post(PATH, body);
      expect(response.status).to.equal(500);
      const { error } = (await response.json()) as { error: { message: string; code: number } };
      expect(error.message).to.match(/^CUDA out of memory\. Tried to allocate/);
      expect(error.code).to.equal(500);
    });

  for (const afterFrames of [1, 3, 1000])
    it(`drop cuts a stream after ${afterFrames} frames, or before [DONE]`, async () => {
      const whole = await readStream(await simulator.post(PATH, STREAM));
      await setFault({ kind: 'drop', afterFrames });
      const { events, isDone, isBroken } = await readStream(await simulator.post(PATH, STREAM));
      expect(events).to.have.lengthOf(Math.min(afterFrames, whole.events.length));
      expect({ isDone, isBroken }).to.deep.equal({ isDone: false, isBroken: true });
    });

  it('drop after 0 frames cuts the connection before any answer', async () => {
    await setFault({ kind: 'drop', afterFrames: 0 });
    expect(await simulator.post(PATH, STREAM).catch(() => 'cut')).to.equal('cut');
  });

  it('drop cuts an answer that is not streamed half-way', async () => {
    await setFault({ kind: 'drop', afterFrames: 0 });
    const response = await simulator.post(PATH, BODY);
    expect(response.status).to.equal(200);
    expect(await response.text().catch(() => 'cut')).to.equal('cut');
  });

  it('a connection that we cut counts as no abort', async () => {
    await setFault({ kind: 'drop', afterFrames: 2 });
    await readStream(await simulator.post(PATH, STREAM));
    await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    expect((await simulator.readControl()).aborted).to.equal(0);
  });

  for (const afterFrames of [0, 3])
    it(`end closes a stream cleanly after ${afterFrames} frames, without [DONE]`, async () => {
      await setFault({ kind: 'end', afterFrames });
      const { events, isDone, isBroken } = await readStream(await simulator.post(PATH, STREAM));
      expect(events).to.have.lengthOf(afterFrames);
      expect({ isDone, isBroken }).to.deep.equal({ isDone: false, isBroken: false });
    });

  it('end gives half an answer that is not streamed', async () => {
    await setFault({ kind: 'end', afterFrames: 0 });
    const text = await (await simulator.post(PATH, BODY)).text();
    expect(text).to.match(/^\{"id"/);
    expect(() => JSON.parse(text)).to.throw();
  });

  const shapes: [shape: 'nested' | 'flat' | 'detail', read: (event: Record<string, unknown>) => unknown][] = [
    ['nested', ({ error }) => (error as { message: string }).message],
    ['flat', ({ object, message }) => (object === 'error' ? message : undefined)],
    ['detail', ({ detail }) => detail],
  ];
  for (const [shape, read] of shapes) {
    it(`error-frame sends a ${shape} error into a stream`, async () => {
      await setFault({ kind: 'error-frame', afterFrames: 2, shape });
      const { events, isBroken } = await readStream(await simulator.post(PATH, STREAM));
      expect(events).to.have.lengthOf(3);
      expect(read(events[2]!)).to.be.a('string');
      expect(isBroken).to.equal(false);
    });
    it(`error-frame answers 500 with a ${shape} error when not streamed`, async () => {
      await setFault({ kind: 'error-frame', afterFrames: 2, shape });
      const response = await simulator.post(PATH, BODY);
      expect(response.status).to.equal(500);
      expect(read((await response.json()) as Record<string, unknown>)).to.be.a('string');
    });
  }

  const hangs: [why: string, body: object, afterFrames: number][] = [
    ['before the first byte of a stream', STREAM, 0],
    ['in the middle of a stream', STREAM, 3],
    ['before an answer', BODY, 0],
  ];
  for (const [why, body, afterFrames] of hangs)
    it(`hang ${why} lasts until the client leaves, which counts as an abort`, async () => {
      await setFault({ kind: 'hang', afterFrames });
      const leaving = new AbortController();
      const answer = simulator.post(PATH, body, { signal: leaving.signal });
      if (afterFrames > 0) {
        const reader = (await answer).body!.getReader();
        for (let seen = ''; seen.split('data: ').length <= afterFrames; )
          seen += new TextDecoder().decode((await reader.read()).value);
      }
      await pollUntil(async () => (await simulator.readControl()).requests === 1);
      expect(await simulator.readControl()).to.include({ inflight: 1, aborted: 0 });
      leaving.abort();
      await answer.catch(() => {});
      await pollUntil(async () => (await simulator.readControl()).aborted === 1);
      expect((await simulator.readControl()).inflight).to.equal(0);
    });

  const USAGE = { stream: true, stream_options: { include_usage: true } };

  for (const afterFrames of [0, 4])
    it(`abort ends a stream as vLLM does, after ${afterFrames} frames`, async () => {
      await setFault({ kind: 'abort', afterFrames });
      const { events, isDone } = await readStream(await simulator.post(PATH, chatOf('Hello', USAGE)));
      expect(isDone).to.equal(true);
      expect(events).to.have.lengthOf(afterFrames + 2);
      expect(events.at(-2)).to.have.nested.property('choices[0].finish_reason', 'abort');
      expect(events.at(-1)).to.have.nested.property('usage.completion_tokens', afterFrames);
    });

  it('abort says so in a whole answer, and not after the last frame of a stream', async () => {
    await setFault({ kind: 'abort', afterFrames: 0 });
    const whole = await (await simulator.post(PATH, BODY)).json();
    expect(whole).to.have.nested.property('choices[0].finish_reason', 'abort');
    await setFault({ kind: 'abort', afterFrames: 1_000 });
    const { events, isDone } = await readStream(await simulator.post(PATH, STREAM));
    expect(isDone).to.equal(true);
    expect(events.at(-1))
      .to.have.nested.property('choices[0].finish_reason')
      .that.is.oneOf(['stop', 'length']);
  });

  it('abort ends messages without a stop reason, and responses as cancelled', async () => {
    const said = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20, stream: true };
    await setFault({ kind: 'abort', afterFrames: 4 });
    const message = await (await simulator.post('/v1/messages', said)).text();
    expect(message)
      .to.include('"stop_reason":null},')
      .and.to.match(/event: message_stop\n[^\n]*\n\n$/);
    await setFault({ kind: 'abort', afterFrames: 4 });
    const response = await (await simulator.post('/v1/responses', { input: 'Hello', stream: true })).text();
    expect(response).to.match(/event: response\.completed\n[^\n]*"status":"cancelled"/);
  });

  it('exit ends the process', async () => {
    await setFault({ kind: 'exit' });
    await simulator.post(PATH, BODY).catch(() => {});
    expect(simulator.exits).to.equal(1);
  });

  const times: [faultTimes: number, statuses: number[]][] = [
    [1, [500, 200, 200]],
    [2, [500, 500, 200]],
    [-1, [500, 500, 500]],
    [0, [200, 200, 200]],
  ];
  for (const [faultTimes, expected] of times)
    it(`strikes as often as faultTimes ${faultTimes} says`, async () => {
      await setFault({ kind: 'oom' }, faultTimes);
      const statuses: number[] = [];
      for (const _ of expected) statuses.push((await simulator.post(PATH, BODY)).status);
      expect(statuses).to.deep.equal(expected);
    });

  it('applies again when it is set again', async () => {
    for (const _ of [1, 2]) {
      await setFault({ kind: 'oom' });
      expect((await simulator.post(PATH, BODY)).status).to.equal(500);
      expect((await simulator.post(PATH, BODY)).status).to.equal(200);
    }
  });

  it('spares health checks and model lists', async () => {
    await setFault({ kind: 'oom' });
    expect((await fetch(`${simulator.url}/health`)).status).to.equal(200);
    expect((await fetch(`${simulator.url}/v1/models`)).status).to.equal(200);
    expect((await simulator.post(PATH, BODY)).status).to.equal(500);
  });

  it('is gone with "fault": null', async () => {
    await setFault({ kind: 'oom' }, -1);
    await simulator.putControl({ fault: null });
    expect((await simulator.post(PATH, BODY)).status).to.equal(200);
  });
});
