/** With `resilience.continueStreams`: when its engine dies, a chat is continued at another one from where it broke off. */
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { ask, type Fields } from './answers.ts';
import { readEngine } from './catalog.ts';
import { largestGap, tellMeasure } from './measures.ts';
import { type OpenStream, openStream, readStream } from './open-stream.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const CHAT = '/chat/completions';
/** Enough that the engine is killed in mid-stream. */
const TOKENS = Math.min(4_000, Math.floor(engine.context! / 2));
const ALL = /(?:)/;

const CONVERSATION: Fields = {
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens: TOKENS,
  ignore_eos: true,
  temperature: 0,
};

interface Whole {
  choices: { index: number; delta: { content: string }; finish_reason: string }[];
  usage: { completion_tokens: number; prompt_tokens: number };
}

interface Answered {
  choices: { message: { content: string } }[];
}

describe(`a broken stream of ${name}`, function () {
  this.timeout(900_000);
  let served: ServedModel;
  before(async () => {
    served = await serveModel(name, {
      // No family, so that all output is text.
      modelId: 'org/tiny',
      spec: { replicas: 2, resilience: { continueStreams: true }, limits: { requestTimeout: '10m' } },
    });
  });
  after(() => served?.stop());

  const findBusy = async (): Promise<string> => {
    for (const address of await served.listAddresses())
      if ((await served.countRunning(address)) > 0) return address;
    throw new Error('no engine works on the stream');
  };
  const until = (stream: OpenStream, count: number) =>
    pollUntil(() => stream.frames.length >= count, `${count} frames`);

  it('is asked for in words that the engine takes, and it reads what was said', async () => {
    const whole = await ask(served.engine, CHAT, { ...CONVERSATION, max_tokens: 40 });
    const said = (whole.body.choices as { message: { content: string } }[])[0]!.message.content;
    const half = said.slice(0, Math.floor(said.length / 2)).trimEnd();
    const continued = await ask(served.engine, CHAT, {
      ...CONVERSATION,
      max_tokens: 20,
      messages: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: half },
      ],
      continue_final_message: true,
      add_generation_prompt: false,
    });
    expect(continued.status, JSON.stringify(continued.body)).to.equal(200);
    const usageOf = ({ body }: typeof whole) => (body.usage as { prompt_tokens: number }).prompt_tokens;
    expect(usageOf(continued), 'it reads what was said').to.be.greaterThan(usageOf(whole));
  });

  it('goes on at another replica when its engine is killed', async () => {
    const stream = await openStream(served.gateway, CHAT, CONVERSATION);
    await until(stream, 20);
    const killed = await findBusy();
    served.signal('SIGKILL', ALL, killed);
    const before = stream.frames.length;
    const said = readStream({ ...stream, frames: stream.frames.slice(0, before) }) as unknown as Whole;
    await stream.ended;
    // Frames in transit still arrive after the kill, and those of the peer are as fast as before.
    const gap = largestGap(stream.arrivals, before);
    tellMeasure('largest gap between frames of a continued stream', `${(gap / 1000).toFixed(2)} s`);
    expect(stream.frames.at(-1), stream.frames.slice(-3).join('\n')).to.equal('[DONE]');
    const { choices, usage } = readStream(stream) as unknown as Whole;
    expect(choices.map(({ index, finish_reason }) => [index, finish_reason])).to.deep.equal([[0, 'length']]);
    expect(usage.completion_tokens).to.equal(TOKENS);
    const unbroken = (await ask(served.gateway, CHAT, CONVERSATION)).body as unknown as Answered;
    const beginning = said.choices[0]!.delta.content;
    expect(choices[0]!.delta.content.startsWith(beginning), 'nothing of it is lost').to.equal(true);
    expect(unbroken.choices[0]!.message.content.startsWith(beginning), 'nor changed').to.equal(true);
    const ids = new Set(stream.frames.slice(0, -1).map((frame) => JSON.parse(frame).id));
    expect(ids.size, 'all in one answer').to.equal(1);
    expect(await readContinued(), 'what the gateway counts').to.equal(1);
  });

  const readContinued = async (): Promise<number> => {
    const counts = await Promise.all((await served.listAddresses()).map(served.countContinued));
    return counts.reduce((sum, count) => sum + count, 0);
  };
});
