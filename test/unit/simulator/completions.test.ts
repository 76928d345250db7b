import { expect } from 'chai';
import { type RunningSimulator as Running, RunningSimulator, readStream } from './running-simulator.ts';

interface Choice {
  index: number;
  text: string;
  logprobs: {
    tokens: string[];
    token_logprobs: (number | null)[];
    text_offset: number[];
    top_logprobs: unknown[];
  } | null;
  finish_reason: string | null;
}
interface Completion {
  object: string;
  choices: Choice[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

describe('the simulated completions', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start();
  });
  after(() => simulator.stop());

  const ask = async (body: object): Promise<Completion> => {
    const response = await simulator.post('/v1/completions', body);
    expect(response.status).to.equal(200);
    return (await response.json()) as Completion;
  };

  it('answers with every field that OpenAI requires, tolerating suffix and best_of', async () => {
    const answer = await ask({ prompt: 'Once', suffix: 'the end', best_of: 2 });
    expect(answer.object).to.equal('text_completion');
    expect(answer.choices).to.have.lengthOf(1);
    expect(answer.choices[0]).to.have.all.keys('index', 'text', 'logprobs', 'finish_reason');
    expect(answer.usage!.prompt_tokens).to.equal(1);
  });

  const prompts: [why: string, prompt: unknown, choices: number, tokens: number][] = [
    ['a text', 'Once upon', 1, 3],
    ['texts', ['Once', 'Twice'], 2, 3],
    ['token ids', [1, 2, 3], 1, 3],
    ['lists of token ids', [[1, 2], [3]], 2, 3],
  ];
  for (const [why, prompt, choices, tokens] of prompts)
    it(`gives a choice for each prompt: ${why}`, async () => {
      const answer = await ask({ prompt });
      expect(answer.choices.map(({ index }) => index)).to.deep.equal([...Array(choices).keys()]);
      expect(answer.usage!.prompt_tokens).to.equal(tokens);
    });

  it('gives n choices for each prompt', async () => {
    const { choices } = await ask({ prompt: ['a', 'b'], n: 2 });
    expect(new Set(choices.map(({ text }) => text)).size).to.equal(4);
  });

  it('repeats the prompt with echo, and describes its tokens', async () => {
    const [choice] = (await ask({ prompt: 'Once upon', echo: true, logprobs: 2, max_tokens: 3 })).choices;
    const { tokens, token_logprobs, text_offset } = choice!.logprobs!;
    expect(choice!.text).to.match(/^Once upon./);
    expect(tokens.join('')).to.equal(choice!.text);
    expect(token_logprobs[0]).to.equal(null);
    expect(text_offset).to.deep.equal(tokens.map((_, index) => tokens.slice(0, index).join('').length));
  });

  it('repeats the prompt alone with echo and max_tokens 0', async () => {
    const answer = await ask({ prompt: 'Once upon', echo: true, max_tokens: 0 });
    expect(answer.choices[0]).to.include({ text: 'Once upon', finish_reason: 'length' });
    expect(answer.usage!.completion_tokens).to.equal(0);
  });

  it('streams what it would have answered', async () => {
    const body = { prompt: ['One', 'Two'], echo: true, logprobs: 1, max_tokens: 6 };
    const whole = await ask(body);
    const response = await simulator.post('/v1/completions', {
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    const { events, isDone } = await readStream(response);
    expect(isDone).to.equal(true);
    const chunks = events as unknown as Completion[];
    for (const { index, text, logprobs, finish_reason } of whole.choices) {
      const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      expect(own.map((choice) => choice.text).join('')).to.equal(text);
      expect(own.flatMap((choice) => choice.logprobs?.text_offset ?? [])).to.deep.equal(
        logprobs!.text_offset,
      );
      expect(own.at(-1)!.finish_reason).to.equal(finish_reason);
    }
    expect(chunks.at(-1)).to.deep.include({ choices: [], usage: whole.usage });
  });

  const bad: [why: string, body: object, param: string][] = [
    ['no prompt', {}, 'prompt'],
    ['an empty list', { prompt: [] }, 'prompt'],
    ['mixed prompts', { prompt: ['a', 1] }, 'prompt[1]'],
    ['negative token ids', { prompt: [-1] }, 'prompt[0]'],
    ['too many choices', { prompt: Array(100).fill('a'), n: 100 }, 'n'],
    ['an echo beyond all bounds', { prompt: 'a'.repeat(1_000_000), n: 100, echo: true }, 'echo'],
    ['max_tokens 0 without echo', { prompt: 'a', max_tokens: 0 }, 'max_tokens'],
  ];
  for (const [why, body, param] of bad)
    it(`refuses ${why}`, async () => {
      const response = await simulator.post('/v1/completions', body);
      expect(response.status).to.equal(400);
      expect(((await response.json()) as { error: object }).error).to.include({ param, code: 400 });
    });
});
