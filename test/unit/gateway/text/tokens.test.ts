import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { translateDetokenize, translateTokenize } from '../../../../gateway/text/tokens.ts';

const SAID = {
  vllm: [{ count: 2, max_model_len: 512, tokens: [5, 6], token_strs: ['a', 'b'] }, { prompt: 'ab' }],
  sglang: [{ count: 2, max_model_len: 512, tokens: [5, 6] }, { text: 'ab' }],
  tei: [
    [
      [
        { id: 5, text: 'a', special: false },
        { id: 6, text: 'b', special: false },
      ],
    ],
    ['ab'],
  ],
  'llama-cpp': [
    {
      tokens: [
        { id: 5, piece: 'a' },
        { id: 6, piece: [98] },
      ],
    },
    { content: 'ab' },
  ],
} as const;
const TOKENIZE = { prompt: 'ab', return_token_strs: true };

describe('tokens', () => {
  for (const [preset, [tokens, text]] of Object.entries(SAID)) {
    it(`of ${preset} are told in the words of vLLM`, () => {
      const answer = translateTokenize(TOKENIZE, preset).read!(tokens)!;
      expect(answer.tokens).to.deep.equal([5, 6]);
      expect(answer.count).to.equal(2);
      if (preset !== 'sglang') expect(answer.token_strs).to.deep.equal(['a', 'b']);
      expect(translateDetokenize({ tokens: [5, 6] }, preset).read!(text)).to.deep.equal({ prompt: 'ab' });
    });

    it(`are none in another answer of ${preset}`, () => {
      for (const other of [null, 5]) {
        expect(translateTokenize(TOKENIZE, preset).read!(other)).to.equal(null);
        expect(translateDetokenize({ tokens: [5] }, preset).read!(other)).to.equal(null);
      }
    });
  }

  it('are asked for in the words of each engine', () => {
    const ask = (preset: string) => {
      const { path, body } = translateTokenize({ prompt: 'ab', add_special_tokens: false }, preset);
      return [path, body];
    };
    expect(ask('vllm')).to.deep.equal(['/tokenize', undefined]);
    expect(ask('sglang')).to.deep.equal(['/tokenize', { prompt: 'ab', add_special_tokens: false }]);
    expect(ask('tei')).to.deep.equal(['/tokenize', { inputs: 'ab', add_special_tokens: false }]);
    expect(ask('llama-cpp')).to.deep.equal([
      '/tokenize',
      { content: 'ab', add_special: false, with_pieces: false },
    ]);
    expect(translateDetokenize({ tokens: [5] }, 'tei').path).to.equal('/decode');
  });

  it('of messages are those of engines that know messages', () => {
    const messages = [{ role: 'user', content: 'a' }];
    expect(translateTokenize({ messages }, 'vllm').path).to.equal('/tokenize');
    expect(() => translateTokenize({ messages }, 'sglang')).to.throw(ApiError, '(sglang): send `prompt`');
    expect(() => translateTokenize({}, 'vllm')).to.throw(ApiError, '`prompt` is required');
  });
});
