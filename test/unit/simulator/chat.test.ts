import { expect } from 'chai';
import {
  chatOf,
  MODEL,
  type RunningSimulator as Running,
  RunningSimulator,
  readStream,
} from './running-simulator.ts';

const PATH = '/v1/chat/completions';
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
      required: ['city', 'days'],
    },
  },
};
const CLOCK = { type: 'function', function: { name: 'clock' } };

interface Choice {
  index: number;
  message: {
    content: string | null;
    refusal: null;
    tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  };
  logprobs: {
    content: { token: string; bytes: number[]; logprob: number; top_logprobs: { token: string }[] }[];
  } | null;
  finish_reason: string;
}
interface Completion {
  id: string;
  object: string;
  model: string;
  choices: Choice[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}
interface Delta {
  role?: string;
  content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
}
interface Chunk {
  object: string;
  choices: { index: number; delta: Delta; logprobs: Choice['logprobs']; finish_reason: string | null }[];
  usage?: Completion['usage'];
}

describe('the simulated chat', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator.stop());

  const ask = async (body: object): Promise<Completion> => {
    const response = await simulator.post(PATH, body);
    expect(response.status).to.equal(200);
    return (await response.json()) as Completion;
  };
  const stream = async (body: object): Promise<Chunk[]> => {
    const response = await simulator.post(PATH, { ...body, stream: true });
    expect(response.headers.get('content-type')).to.contain('text/event-stream');
    const { events, isDone } = await readStream(response);
    expect(isDone).to.equal(true);
    return events as unknown as Chunk[];
  };
  const textOf = ({ choices }: Completion, index = 0): string => choices[index]!.message.content!;

  it('answers with every field that OpenAI requires', async () => {
    const answer = await ask(chatOf('Hello', { model: MODEL }));
    expect(answer).to.include({ object: 'chat.completion', model: MODEL });
    expect(answer.choices[0]).to.have.all.keys('index', 'message', 'logprobs', 'finish_reason');
    expect(answer.choices[0]!.message).to.include({ role: 'assistant', refusal: null });
    expect(textOf(answer)).to.match(/^[A-Z].*\.$/);
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
    expect(completion_tokens).to.be.within(16, 64);
    expect(total_tokens).to.equal(prompt_tokens + completion_tokens);
  });

  it('gives the same answer to the same prompt and seed, another to others', async () => {
    const first = textOf(await ask(chatOf('Hello', { seed: 1 })));
    expect(textOf(await ask(chatOf('Hello', { seed: 1 })))).to.equal(first);
    expect(textOf(await ask(chatOf('Hello', { seed: 2 })))).not.to.equal(first);
    expect(textOf(await ask(chatOf('Hello!', { seed: 1 })))).not.to.equal(first);
  });

  it('streams what it would have answered, a token a chunk', async () => {
    const whole = await ask(chatOf('Stream this'));
    const chunks = await stream(chatOf('Stream this'));
    expect(chunks[0]!.choices[0]!.delta.role).to.equal('assistant');
    const tokens = chunks.flatMap(({ choices }) => choices[0]!.delta.content || []);
    expect(tokens.join('')).to.equal(textOf(whole));
    expect(tokens).to.have.lengthOf(whole.usage.completion_tokens);
    expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('stop');
    expect(chunks.every((chunk) => !('usage' in chunk))).to.equal(true);
  });

  it('ends a stream with the usage when asked for it', async () => {
    const whole = await ask(chatOf('Count this'));
    const chunks = await stream(chatOf('Count this', { stream_options: { include_usage: true } }));
    expect(chunks.at(-1)).to.deep.include({ choices: [], usage: whole.usage });
    expect(chunks.filter(({ usage }) => usage)).to.have.lengthOf(1);
  });

  it('gives n different choices, streamed or not', async () => {
    const whole = await ask(chatOf('Three', { n: 3 }));
    const texts = whole.choices.map((_, index) => textOf(whole, index));
    expect(new Set(texts).size).to.equal(3);
    const chunks = await stream(chatOf('Three', { n: 3 }));
    const streamed = ['', '', ''];
    for (const { choices } of chunks)
      for (const { index, delta } of choices) streamed[index] += delta.content ?? '';
    expect(streamed).to.deep.equal(texts);
    const ends = chunks.flatMap(({ choices }) => choices.filter(({ finish_reason }) => finish_reason));
    expect(ends.map(({ index }) => index).sort()).to.deep.equal([0, 1, 2]);
  });

  for (const field of ['max_tokens', 'max_completion_tokens'])
    it(`stops at ${field} with finish_reason length`, async () => {
      const answer = await ask(chatOf('Long', { [field]: 5 }));
      expect(answer.choices[0]!.finish_reason).to.equal('length');
      expect(answer.usage.completion_tokens).to.equal(5);
    });

  it('answers as many tokens as the setting says, and as ignore_eos asks for', async () => {
    await simulator.putControl({ tokens: 100 });
    const answer = await ask(chatOf('Long'));
    expect(answer.usage.completion_tokens).to.equal(100);
    expect(answer.choices[0]!.finish_reason).to.equal('stop');
    await simulator.reset();
    const endless = await ask(chatOf('Long', { ignore_eos: true, max_tokens: 300 }));
    expect(endless.usage.completion_tokens).to.equal(300);
  });

  it('cuts the answer before a stop sequence', async () => {
    const whole = textOf(await ask(chatOf('Stop here')));
    const stop = whole.slice(20, 25);
    const cut = await ask(chatOf('Stop here', { stop: [stop, 'never said'] }));
    expect(textOf(cut)).to.equal(whole.slice(0, whole.indexOf(stop)));
    expect(cut.choices[0]!.finish_reason).to.equal('stop');
  });

  it('gives log probabilities for each token, streamed or not', async () => {
    const asked = { logprobs: true, top_logprobs: 3, max_tokens: 4 };
    const [choice] = (await ask(chatOf('Likely', asked))).choices;
    const content = choice!.logprobs!.content;
    expect(content.map(({ token }) => token).join('')).to.equal(choice!.message.content);
    for (const { token, bytes, logprob, top_logprobs } of content) {
      expect(Buffer.from(bytes).toString()).to.equal(token);
      expect(logprob).to.be.below(0);
      expect(new Set(top_logprobs.map((top) => top.token)).size).to.equal(3);
    }
    const chunks = await stream(chatOf('Likely', asked));
    const streamed = chunks.flatMap(({ choices }) => choices[0]!.logprobs?.content ?? []);
    expect(streamed).to.deep.equal(content);
  });

  describe('tools', () => {
    const cases: [why: string, body: object, called: string[]][] = [
      [
        'calls the tool that the text names',
        chatOf('use get_weather', { tools: [CLOCK, WEATHER] }),
        ['get_weather'],
      ],
      [
        'calls the tool whose subject is mentioned',
        chatOf('Weather in Rome?', { tools: [WEATHER] }),
        ['get_weather'],
      ],
      [
        'calls every tool mentioned',
        chatOf('weather and clock', { tools: [CLOCK, WEATHER] }),
        ['clock', 'get_weather'],
      ],
      [
        'calls one when parallel_tool_calls is false',
        chatOf('weather and clock', { tools: [CLOCK, WEATHER], parallel_tool_calls: false }),
        ['clock'],
      ],
      ['calls none that is not mentioned', chatOf('Hello', { tools: [WEATHER] }), []],
      ['calls none with tool_choice none', chatOf('weather', { tools: [WEATHER], tool_choice: 'none' }), []],
      [
        'calls one with tool_choice required',
        chatOf('Hello', { tools: [WEATHER], tool_choice: 'required' }),
        ['get_weather'],
      ],
      [
        'calls the named tool',
        chatOf('weather', {
          tools: [WEATHER, CLOCK],
          tool_choice: { type: 'function', function: { name: 'clock' } },
        }),
        ['clock'],
      ],
      [
        'answers a tool result in words',
        {
          messages: [
            { role: 'user', content: 'weather' },
            { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: {} }] },
            { role: 'tool', tool_call_id: 'a', content: 'sunny' },
          ],
          tools: [WEATHER],
        },
        [],
      ],
    ];
    for (const [why, body, called] of cases)
      it(why, async () => {
        const [choice] = (await ask(body)).choices;
        expect((choice!.message.tool_calls ?? []).map((call) => call.function.name)).to.deep.equal(called);
        expect(choice!.finish_reason).to.equal(called.length > 0 ? 'tool_calls' : 'stop');
        expect(choice!.message.content === null).to.equal(called.length > 0);
      });

    it('streams a call in pieces that make up arguments in accord with the schema', async () => {
      const chunks = await stream(chatOf('weather', { tools: [WEATHER] }));
      const pieces = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? []);
      expect(pieces[0]).to.have.property('id');
      expect(pieces[0]!.function.name).to.equal('get_weather');
      expect(pieces.length).to.be.above(2);
      const made = JSON.parse(pieces.map((piece) => piece.function.arguments).join(''));
      expect(made.city).to.be.a('string');
      expect(made.days).to.be.within(1, 7);
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('tool_calls');
    });
  });

  it('answers JSON for response_format json_object', async () => {
    const answer = await ask(chatOf('JSON please', { response_format: { type: 'json_object' } }));
    expect(JSON.parse(textOf(answer))).to.be.an('object');
  });

  it('answers in accord with the schema for response_format json_schema', async () => {
    const schema = { type: 'object', properties: { size: { enum: ['s', 'm'] } }, required: ['size'] };
    const answer = await ask(
      chatOf('JSON please', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
    );
    expect(JSON.parse(textOf(answer)).size).to.be.oneOf(['s', 'm']);
  });

  it('counts images among the tokens of the prompt', async () => {
    const parts = (more: object[]): object => ({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...more] }],
    });
    const without = await ask(parts([]));
    const withImage = await ask(
      parts([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]),
    );
    expect(withImage.usage.prompt_tokens - without.usage.prompt_tokens).to.be.above(100);
    expect(textOf(withImage)).not.to.equal(textOf(without));
  });
});
