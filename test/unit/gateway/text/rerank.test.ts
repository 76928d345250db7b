import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { translateRerank, translateRerankV2, translateScore } from '../../../../gateway/text/rerank.ts';

const BODY = { model: 'org/m', query: 'ships', documents: ['bread', { text: 'a ship' }], priority: 1 };
interface Results {
  results: object[];
  usage: object;
}

describe('a rerank request', () => {
  it('goes to engines that speak Jina’s dialect as it is, its texts as strings', () => {
    for (const preset of ['vllm', 'llama-cpp', 'simulator', 'custom']) {
      const { path, body } = translateRerank(BODY, preset);
      expect(path).to.equal('/v1/rerank');
      expect(body).to.deep.equal({ priority: 1, query: 'ships', documents: ['bread', 'a ship'], top_n: 2 });
    }
  });

  it('goes to Text Embeddings Inference by its own route, in its own words', () => {
    const { path, body } = translateRerank({ ...BODY, truncate: true }, 'tei');
    expect(path).to.equal('/rerank');
    expect(body).to.include({ query: 'ships', truncate: true });
    expect((body as { texts: string[] }).texts).to.deep.equal(['bread', 'a ship']);
  });
});

describe('the answer to a rerank request', () => {
  const expected = [
    { index: 1, relevance_score: 0.9, document: { text: 'a ship' } },
    { index: 0, relevance_score: 0.1, document: { text: 'bread' } },
  ];
  const SAID = {
    vllm: {
      id: 'rerank-1',
      usage: { prompt_tokens: 9, total_tokens: 9 },
      results: [
        { index: 1, relevance_score: 0.9, document: { text: 'a ship', multi_modal: null } },
        { index: 0, relevance_score: 0.1, document: { text: 'bread' } },
      ],
    },
    'llama-cpp': {
      model: 'org/m',
      object: 'list',
      usage: { prompt_tokens: 9, total_tokens: 9 },
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
    },
    tei: [
      { index: 0, score: 0.1 },
      { index: 1, score: 0.9 },
    ],
    sglang: [
      { index: 1, score: 0.9, document: 'a ship', meta_info: { prompt_tokens: 5 } },
      { index: 0, score: 0.1, document: 'bread', meta_info: { prompt_tokens: 4 } },
    ],
  };

  for (const [preset, said] of Object.entries(SAID)) {
    it(`is the same of ${preset} as of all others`, () => {
      const { results } = translateRerank(BODY, preset).read!(said) as unknown as Results;
      expect(results).to.deep.equal(expected);
    });

    it(`has as many texts as were wanted, without their words where they are not, of ${preset}`, () => {
      const body = { ...BODY, top_n: 1, return_documents: false };
      const { results } = translateRerank(body, preset).read!(said) as unknown as Results;
      expect(results).to.deep.equal([{ index: 1, relevance_score: 0.9 }]);
    });

    it(`is none of ${preset} in other words`, () => {
      for (const other of [null, 'text', { choices: [] }, Array.isArray(said) ? {} : []])
        expect(translateRerank(BODY, preset).read!(other)).to.equal(null);
    });
  }

  const wrong: [string, (readonly [index: unknown, score: unknown])[], string][] = [
    ['no score of a text', [[1, 0.9]], 'no score for `documents[0]`'],
    [
      'two scores of a text',
      [
        [1, 0.9],
        [1, 0.8],
      ],
      'more than one score for `documents[1]`',
    ],
    [
      'a score of no text',
      [
        [1, 0.9],
        [2, 0.1],
      ],
      'an index that none of the 2 inputs has: 2',
    ],
    [
      'no number',
      [
        [1, 0.9],
        [0, null],
      ],
      'a score for `documents[0]` that is not a finite number',
    ],
    [
      'an infinite number',
      [
        [1, 0.9],
        [0, Number.POSITIVE_INFINITY],
      ],
      'a score for `documents[0]` that is not a finite number',
    ],
    [
      'a text',
      [
        [1, 0.9],
        [0, '0.1'],
      ],
      'a score for `documents[0]` that is not a finite number',
    ],
  ];
  const sayAs = (preset: string, rated: (typeof wrong)[0][1]) =>
    preset === 'tei' || preset === 'sglang'
      ? rated.map(([index, score]) => ({ index, score }))
      : { results: rated.map(([index, score]) => ({ index, relevance_score: score })) };
  for (const preset of Object.keys(SAID))
    for (const [what, rated, message] of wrong)
      it(`is an error of ${preset} where it has ${what}`, () => {
        for (const translate of [translateRerank, translateRerankV2])
          expect(() => translate(BODY, preset).read!(sayAs(preset, rated))).to.throw(
            `The engine returned ${message}.`,
          );
        const { read } = translateScore({ text_1: 'ships', text_2: ['bread', 'a ship'] }, preset);
        const said =
          preset === 'vllm'
            ? { data: rated.map(([index, score]) => ({ index, score })) }
            : sayAs(preset, rated);
        expect(() => read!(said)).to.throw(message.replace('documents', 'text_2'));
      });

  it('may have fewer scores where fewer are wanted', () => {
    const read = (rated: (typeof wrong)[0][1]) => () =>
      translateRerank({ ...BODY, top_n: 1 }, 'vllm').read!(sayAs('vllm', rated));
    expect(read([[1, 0.9]])())
      .to.have.property('results')
      .with.length(1);
    expect(read([])).to.throw('no score for `documents[0]`');
  });

  it('has no texts in the second version of Cohere’s API, unless they are asked for, and tells the tokens in its words', () => {
    for (const preset of Object.keys(SAID) as (keyof typeof SAID)[]) {
      const { results, ...beside } = translateRerankV2(BODY, preset).read!(
        SAID[preset],
      ) as unknown as Results;
      expect(results).to.deep.equal(expected.map(({ document: _, ...each }) => each));
      const tokens = preset === 'tei' ? 6 : 9;
      expect(beside).to.deep.include({
        meta: { api_version: { version: '2' }, tokens: { input_tokens: tokens } },
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
      const told = translateRerankV2({ ...BODY, return_documents: true }, preset).read!(SAID[preset]);
      expect((told as unknown as Results).results).to.deep.equal(expected);
    }
  });

  it('is read of SGLang with a model that generates, which says nothing of tokens', () => {
    const said = [
      { score: 0.9, document: 'a ship', index: 1, meta_info: null },
      { score: 0.1, document: 'bread', index: 0, meta_info: null },
    ];
    const { results, usage } = translateRerank(BODY, 'sglang').read!(said) as unknown as Results;
    expect(results).to.deep.equal(expected);
    expect(usage).to.deep.equal({ prompt_tokens: 6, total_tokens: 6 });
  });

  it('tells the tokens that the engine counted, else an estimate of each text with the query', () => {
    const usageOf = (preset: 'vllm' | 'tei' | 'sglang') =>
      (translateRerank(BODY, preset).read!(SAID[preset]) as unknown as Results).usage;
    expect(usageOf('vllm')).to.deep.equal({ prompt_tokens: 9, total_tokens: 9 });
    expect(usageOf('sglang')).to.deep.equal({ prompt_tokens: 9, total_tokens: 9 });
    // Twice 5 characters of the query, 5 and 6 of the texts; four per token.
    expect(usageOf('tei')).to.deep.equal({ prompt_tokens: 6, total_tokens: 6 });
  });
});

describe('a score request', () => {
  const refusal = (body: object, preset: string): ApiError => {
    try {
      translateScore(body as Record<string, unknown>, preset);
    } catch (error) {
      expect(error).to.be.instanceOf(ApiError);
      return error as ApiError;
    }
    throw new Error('it was taken');
  };

  it('goes to vLLM by its own route, whatever the sides are called', () => {
    for (const sides of [
      { text_1: 'a', text_2: ['b', 'c'] },
      { queries: 'a', documents: ['b', 'c'] },
      { queries: 'a', items: ['b', 'c'] },
      { data_1: 'a', data_2: ['b', 'c'] },
    ]) {
      const { path, body } = translateScore({ ...sides, truncate_prompt_tokens: 5 }, 'vllm');
      expect(path).to.equal('/v1/score');
      expect(body).to.deep.equal({ text_1: 'a', text_2: ['b', 'c'], truncate_prompt_tokens: 5 });
    }
  });

  it('is answered by the rerank route of engines without one that scores, in the order of the texts', () => {
    const { path, body, read } = translateScore({ text_1: ['a'], text_2: ['b', 'c'] }, 'tei');
    expect([path, (body as { texts: string[] }).texts]).to.deep.equal(['/rerank', ['b', 'c']]);
    const said = [
      { index: 1, score: 0.9 },
      { index: 0, score: 0.1 },
    ];
    expect(read!(said)).to.deep.include({
      object: 'list',
      data: [
        { index: 0, object: 'score', score: 0.1 },
        { index: 1, object: 'score', score: 0.9 },
      ],
    });
  });

  it('of several texts with their own is refused where the engine scores one with many alone', () => {
    const body = { text_1: ['a', 'b'], text_2: ['c', 'd'] };
    expect(translateScore(body, 'vllm').path).to.equal('/v1/score');
    expect(refusal(body, 'sglang').message).to.include('(sglang) scores one text');
  });

  it('with sides that do not match is refused', () => {
    expect(refusal({ text_1: ['a', 'b'], text_2: 'c' }, 'vllm').details.param).to.equal('text_1');
    expect(refusal({ text_2: 'c' }, 'vllm').details.param).to.equal('text_1');
    const many = Array.from({ length: 2049 }, () => 'a');
    expect(refusal({ text_1: 'a', text_2: many }, 'vllm').message).to.include('1 to 2048');
  });
});
