import { expect } from 'chai';
import { chatOf, RunningSimulator, readStream } from './running-simulator.ts';

interface Whole {
  choices: { message: { content: string }; finish_reason: string }[];
  usage: { completion_tokens: number };
}

describe('a chat whose final message is continued', () => {
  let simulator: RunningSimulator;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator.stop());

  const chat = async (body: object): Promise<Whole> =>
    (await (await simulator.post('/v1/chat/completions', body)).json()) as Whole;
  const continued = (said: string, more: object = {}) => ({
    ...chatOf('Tell me', more),
    messages: [
      { role: 'user', content: 'Tell me' },
      { role: 'assistant', content: said },
    ],
    continue_final_message: true,
    add_generation_prompt: false,
  });

  it('goes on as the unbroken one does, wherever it is cut', async () => {
    const whole = await chat(chatOf('Tell me', { seed: 3 }));
    const text = whole.choices[0]!.message.content;
    for (const cut of [1, 7, Math.floor(text.length / 2), text.length - 1]) {
      const rest = await chat(continued(text.slice(0, cut), { seed: 3 }));
      expect(text.slice(0, cut) + rest.choices[0]!.message.content).to.equal(text);
      expect(rest.choices[0]!.finish_reason).to.equal('stop');
    }
  });

  it('ends after the tokens and at the stop string that it is given', async () => {
    const text = (await chat(chatOf('Tell me'))).choices[0]!.message.content;
    const some = await chat(continued(text.slice(0, 10), { max_tokens: 3 }));
    expect(some.usage.completion_tokens).to.equal(3);
    expect(some.choices[0]!.finish_reason).to.equal('length');
    expect(text.slice(10).startsWith(some.choices[0]!.message.content)).to.equal(true);
    const stop = text.slice(20, 24);
    const stopped = await chat(continued(text.slice(0, 10), { stop }));
    expect(stopped.choices[0]!.message.content).to.equal(text.slice(10).split(stop)[0]);
  });

  it('refuses what does not fit together', async () => {
    const both = { ...continued('One'), add_generation_prompt: true };
    expect((await simulator.post('/v1/chat/completions', both)).status).to.equal(400);
    const nobody = { ...continued('One'), messages: [{ role: 'user', content: 'Tell me' }] };
    expect((await simulator.post('/v1/chat/completions', nobody)).status).to.equal(400);
  });

  for (const like of [null, 'vllm'])
    it(`tells the tokens so far in every frame where asked to, like ${like ?? 'itself'}`, async () => {
      await simulator.putControl({ like });
      const body = {
        ...chatOf('Tell me', { max_tokens: 20 }),
        stream: true,
        stream_options: { include_usage: true, continuous_usage_stats: true },
      };
      const { events } = await readStream(await simulator.post('/v1/chat/completions', body));
      const counts = events.map(({ usage }) => (usage as Whole['usage']).completion_tokens);
      expect(counts[0]).to.equal(0);
      expect(counts.at(-1)).to.equal(20);
      expect(counts).to.deep.equal(counts.toSorted((a, b) => a - b));
    });
});
