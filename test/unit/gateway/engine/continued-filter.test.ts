import { expect } from 'chai';
import { ContinuedFilter, type ContinuedFilterOptions } from '../../../../gateway/engine/continued-filter.ts';
import { MAX_GENERATED_BYTES } from '../../../../gateway/engine/generated-text.ts';

const OPTIONS: ContinuedFilterOptions = {
  modelId: 'org/m',
  isUsageWanted: false,
  isUsageContinuous: false,
  promptBytes: 40,
  stops: [],
  withStop: false,
  reserve: () => true,
};
const FIRST = { id: 'one', object: 'chat.completion.chunk', created: 1, model: '/weights' };
const SECOND = { ...FIRST, id: 'two', created: 2 };

const chunk = (head: object, delta: object, more: object = {}) => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const ended = (head: object, finish = 'stop') => ({
  ...head,
  choices: [{ index: 0, delta: {}, finish_reason: finish }],
});
const usageOf = (input: number, output: number, cached?: number) => ({
  usage: {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
  },
});
const ROLE = { role: 'assistant', content: '' };
const DONE = '[DONE]';

type Payload = object | typeof DONE;
const format = (payloads: Payload[]): string =>
  payloads.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('');

/** Pushes frames in small pieces; returns what is sent to the client. */
function push(filter: ContinuedFilter, payloads: Payload[], size = 17): string {
  const bytes = Buffer.from(format(payloads));
  let output = '';
  for (let start = 0; start < bytes.length; start += size)
    output += filter.push(bytes.subarray(start, start + size)) ?? '';
  return Buffer.from(output, 'latin1').toString();
}

interface ChunkShape {
  id: string;
  created: number;
  model: string;
  choices: { delta: Record<string, unknown>; finish_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}
const parse = (text: string): ChunkShape[] =>
  text
    .split('\n\n')
    .flatMap((frame) => (frame === '' || frame.endsWith(DONE) ? [] : [JSON.parse(frame.slice(6))]));
const readText = (chunks: ChunkShape[]): string =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('');

describe('the filter of answers that are continued', () => {
  it('passes the first part as it comes, and remembers what it says', () => {
    const filter = new ContinuedFilter({ ...OPTIONS, modelId: '/weights' });
    const frames = [chunk(FIRST, ROLE), chunk(FIRST, { content: 'Größe' }), chunk(FIRST, { content: ' 1' })];
    expect(push(filter, frames)).to.equal(format(frames));
    expect(filter.generated.content).to.equal('Größe 1');
    expect(filter).to.deep.include({ finish: null, hasProgress: true, isDone: false, failure: null });
  });

  it('takes usage without choices out of what a client gets that did not ask for it, and completes it for others', () => {
    const [first, told] = [chunk(FIRST, { content: 'One' }), usageOf(3, 1)];
    const removed = push(new ContinuedFilter(OPTIONS), [first, told]);
    expect(parse(removed)).to.have.length(1);
    const asked = push(new ContinuedFilter({ ...OPTIONS, isUsageWanted: true }), [first, told]);
    expect(parse(asked)[1]).to.deep.equal({ ...FIRST, model: 'org/m', choices: [], ...told });
  });

  it('makes one answer of two parts', () => {
    const filter = new ContinuedFilter(OPTIONS);
    let text = push(filter, [chunk(FIRST, ROLE), chunk(FIRST, { content: 'One' })]);
    filter.beginPart();
    text += push(filter, [
      chunk(SECOND, ROLE),
      chunk(SECOND, { role: 'assistant', content: ' two' }),
      chunk(SECOND, { content: ' three' }),
      ended(SECOND),
      DONE,
    ]);
    const chunks = parse(text);
    expect(readText(chunks)).to.equal('One two three');
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`))).to.deep.equal(
      new Set(['one 1 org/m']),
    );
    expect(chunks.filter(({ choices }) => 'role' in choices[0]!.delta)).to.have.length(1);
    expect(chunks.filter(({ choices }) => choices[0]!.finish_reason !== null)).to.have.length(1);
    expect(filter.isDone).to.equal(true);
    expect(text.endsWith(`data: ${DONE}\n\n`)).to.equal(true);
  });

  it('makes one answer of three parts', () => {
    const filter = new ContinuedFilter({ ...OPTIONS, isUsageWanted: true });
    let text = push(filter, [chunk(FIRST, { content: 'One' })]);
    filter.beginPart();
    text += push(filter, [chunk(SECOND, { content: ' two' })]);
    filter.beginPart();
    text += push(filter, [chunk(SECOND, { content: ' three' }), ended(SECOND)]);
    text += push(filter, [{ ...SECOND, choices: [], ...usageOf(12, 1) }, DONE]);
    expect(readText(parse(text))).to.equal('One two three');
    expect(parse(text).at(-1)!.usage).to.include({
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 13,
    });
  });

  describe('tells the usage of all parts', () => {
    const run = (options: Partial<ContinuedFilterOptions>, first: object, second: object) => {
      const filter = new ContinuedFilter({ ...OPTIONS, ...options });
      let text = push(filter, [chunk(FIRST, ROLE), chunk(FIRST, { content: 'One' }, first)]);
      filter.beginPart();
      text += push(filter, [
        chunk(SECOND, { content: ' two' }, second),
        ended(SECOND),
        { ...SECOND, choices: [], ...usageOf(14, 6, 9) },
        DONE,
      ]);
      return { filter, chunks: parse(text) };
    };
    const continuous = { isUsageContinuous: true };

    it('as the engines told it in every frame, which the client does not see', () => {
      const { filter, chunks } = run(
        { ...continuous, isUsageWanted: true },
        usageOf(10, 4, 5),
        usageOf(14, 1),
      );
      expect(filter.usage).to.deep.equal({
        inputTokens: 10,
        cachedInputTokens: 5,
        outputTokens: 10,
        totalTokens: 20,
      });
      expect(chunks.filter(({ usage }) => usage)).to.have.length(1);
      expect(chunks.at(-1)!.usage).to.deep.equal(usageOf(10, 10, 5).usage);
    });

    it('not at all where the client does not want it', () => {
      const { filter, chunks } = run(continuous, usageOf(10, 4, 5), usageOf(14, 1));
      expect(filter.usage).to.include({ inputTokens: 10, outputTokens: 10 });
      expect(chunks.filter(({ usage }) => usage)).to.have.length(0);
    });

    it('without the first engine’s word by the frames that came', () => {
      const { filter } = run({}, {}, {});
      expect(filter.usage).to.deep.equal({
        inputTokens: 13,
        cachedInputTokens: 9,
        outputTokens: 7,
        totalTokens: 20,
      });
    });
  });

  it('knows what to charge of an answer that stays broken', () => {
    const filter = new ContinuedFilter({ ...OPTIONS, isUsageContinuous: true });
    push(filter, [chunk(FIRST, { content: 'One' }, usageOf(10, 4))]);
    filter.beginPart();
    push(filter, [chunk(SECOND, { content: ' two' })]);
    expect(filter.usage).to.include({ inputTokens: 10, outputTokens: 5, totalTokens: 15 });
  });

  describe('completes an answer that has ended', () => {
    it('with its last words alone', () => {
      const filter = new ContinuedFilter(OPTIONS);
      push(filter, [chunk(FIRST, { content: 'One' }), ended(FIRST)]);
      expect(filter.finish).to.equal('stop');
      expect(filter.complete()).to.equal(format([DONE]));
    });

    it('with usage where it is wanted', () => {
      const filter = new ContinuedFilter({ ...OPTIONS, isUsageWanted: true });
      push(filter, [chunk(FIRST, { content: 'One' }), ended(FIRST)]);
      const [usage, ...rest] = parse(filter.complete());
      expect(rest).to.deep.equal([]);
      expect(usage).to.deep.include({ id: 'one', model: 'org/m', choices: [] });
      expect(usage!.usage).to.include({ prompt_tokens: 10, completion_tokens: 1 });
    });

    it('with the reason for which the gateway ended it', () => {
      const filter = new ContinuedFilter(OPTIONS);
      push(filter, [chunk(FIRST, { content: 'One' })]);
      filter.finish = 'length';
      expect(parse(filter.complete()).map(({ choices }) => choices[0]!.finish_reason)).to.deep.equal([
        'length',
      ]);
    });
  });

  it('ends at a stop string that spans the seam', () => {
    const filter = new ContinuedFilter({ ...OPTIONS, stops: ['END'] });
    let text = push(filter, [chunk(FIRST, { content: 'One E' })]);
    filter.beginPart();
    text += push(filter, [chunk(SECOND, { content: 'ND two' }), chunk(SECOND, { content: ' three' })]);
    expect(filter.failure).not.to.equal(null);
    expect(filter.finish).to.equal('stop');
    text += filter.complete();
    expect(readText(parse(text))).to.equal('One E');
    expect(parse(text).at(-1)!.choices[0]!.finish_reason).to.equal('stop');
  });

  it('keeps thoughts apart', () => {
    const filter = new ContinuedFilter(OPTIONS);
    push(filter, [chunk(FIRST, { reasoning_content: 'Hm' }), chunk(FIRST, { reasoning: '.' })]);
    expect(filter.generated).to.include({ isReasoning: true, reasoning: 'Hm.', content: '' });
    push(filter, [chunk(FIRST, { content: 'One' })]);
    expect(filter.generated).to.include({ isReasoning: false, content: 'One' });
  });

  it('takes no thoughts after the answer has begun', () => {
    const filter = new ContinuedFilter(OPTIONS);
    push(filter, [chunk(FIRST, { content: 'One' })]);
    filter.beginPart();
    expect(push(filter, [chunk(SECOND, ROLE), chunk(SECOND, { reasoning: 'Again' })])).to.equal('');
    expect(filter.failure).not.to.equal(null);
    expect(filter).to.include({ finish: null, hasProgress: false });
  });

  it('fails as the engine does, in every part', () => {
    const filter = new ContinuedFilter(OPTIONS);
    push(filter, [chunk(FIRST, { content: 'One' }), ended(FIRST, 'abort'), DONE]);
    expect(filter.failure).to.include({ code: 'upstream_error' });
    expect(filter.finish).to.equal(null);
    filter.beginPart();
    expect(filter.failure).to.equal(null);
    push(filter, [{ error: { message: 'EngineCore encountered an issue', code: 500 } }, DONE]);
    expect(filter.failure).to.include({ code: 'upstream_error' });
  });

  describe('gives up to keep', () => {
    it('what is more than text', () => {
      const filter = new ContinuedFilter(OPTIONS);
      push(filter, [chunk(FIRST, { content: 'One' }), chunk(FIRST, { tool_calls: [{ index: 0 }] })]);
      expect(filter.generated.obstacle).to.be.a('string');
    });

    it('several choices', () => {
      const filter = new ContinuedFilter(OPTIONS);
      push(filter, [{ ...FIRST, choices: [{ index: 1, delta: { content: 'One' } }] }]);
      expect(filter.generated.obstacle).to.be.a('string');
    });

    it('what is very long, whatever it is made of', () => {
      let reserved = 0;
      const reserve = (bytes: number) => {
        reserved += bytes;
        return true;
      };
      const filter = new ContinuedFilter({ ...OPTIONS, reserve });
      const half = 'ü'.repeat(MAX_GENERATED_BYTES / 4);
      push(filter, [chunk(FIRST, { reasoning: half }), chunk(FIRST, { content: half })], 65_536);
      expect(filter.generated.obstacle).to.equal(null);
      expect(push(filter, [chunk(FIRST, { content: 'x' })])).to.include('"x"');
      expect(filter.generated.obstacle).to.be.a('string');
      expect(filter.generated.content).to.equal('');
      expect(reserved).to.be.lessThan(4 * MAX_GENERATED_BYTES);
    });

    it('what there is no memory for', () => {
      const filter = new ContinuedFilter({ ...OPTIONS, reserve: () => false });
      push(filter, [chunk(FIRST, { content: 'short' })]);
      expect(filter.generated.obstacle).to.equal(null);
      push(filter, [chunk(FIRST, { content: 'x'.repeat(20_000) })], 65_536);
      expect(filter.generated.obstacle).to.be.a('string');
    });
  });
});
