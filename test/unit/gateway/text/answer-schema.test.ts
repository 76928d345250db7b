import { expect } from 'chai';
import { completeChat, completeCompletion } from '../../../../gateway/text/answer-schema.ts';

const MODEL = 'org/m';

describe('an answer of an engine', () => {
  it('of a chat gets the fields that OpenAI’s schema requires', () => {
    const answer = {
      model: '/m.gguf',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
    };
    expect(completeChat(answer, MODEL)).to.equal(true);
    expect(answer).to.deep.equal({
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi', refusal: null }, logprobs: null }],
    });
  });

  it('of vLLM loses what is null where OpenAI’s schema has no null', () => {
    const message = { role: 'assistant', content: 'hi', refusal: null, annotations: null };
    const answer = {
      model: MODEL,
      system_fingerprint: null,
      choices: [{ index: 0, message, logprobs: null }],
      usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 0, multimodal_tokens: null } },
    };
    Object.assign(answer.usage, { completion_tokens_details: null });
    expect(completeChat(answer, MODEL)).to.equal(true);
    expect(answer).to.deep.equal({
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi', refusal: null }, logprobs: null }],
      usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } },
    });
  });

  it('does not show the engine’s version and parallelism', () => {
    for (const complete of [completeChat, completeCompletion]) {
      const answer = { model: MODEL, system_fingerprint: 'vllm-0.32.0-tp2-1a2b3c4d', choices: [] };
      expect(complete(answer, MODEL)).to.equal(true);
      expect(answer).to.deep.equal({ model: MODEL, choices: [] });
    }
  });

  it('says that a chat’s log probabilities have none of a refusal, where the engine leaves that out', () => {
    const message = { role: 'assistant', content: 'hi', refusal: null };
    const answer = { model: MODEL, choices: [{ index: 0, message, logprobs: { content: [] } }] };
    expect(completeChat(answer, MODEL)).to.equal(true);
    expect(answer.choices[0]!.logprobs).to.deep.equal({ content: [], refusal: null });
  });

  it('that is complete stays as it is', () => {
    const choice = { index: 0, logprobs: null, message: { role: 'assistant', content: 'hi', refusal: null } };
    expect(completeChat({ model: MODEL, choices: [choice] }, MODEL)).to.equal(false);
    expect(completeCompletion({ model: MODEL, choices: [{ text: 'x', logprobs: null }] }, MODEL)).to.equal(
      false,
    );
  });
});
