import { expect } from 'chai';
import { RequestEcho } from '../../../../gateway/text/request-echo.ts';
import { completeResponse, ECHOED_MEMBERS } from '../../../../gateway/text/response-schema.ts';
import { findResponseFaults } from '../../../support/open-responses.ts';

const MODEL = 'org/m';
const NOW = 1_763_000_000_900;

const contextOf = (request: object = {}) => ({
  modelId: MODEL,
  echo: new RequestEcho(ECHOED_MEMBERS, () => Buffer.from(JSON.stringify(request))),
  now: () => NOW,
});

const usage = { input_tokens: 7, output_tokens: 2, total_tokens: 9 };
const message = (part: object) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'hi', ...part }],
});

/** All fields of a response that vLLM 0.28 sends. */
const ofVLLM = (): Record<string, unknown> => ({
  id: 'resp_1',
  created_at: 1_763_000_000,
  incomplete_details: null,
  instructions: null,
  metadata: null,
  model: '/weights',
  object: 'response',
  output: [message({ annotations: [], logprobs: null })],
  parallel_tool_calls: true,
  temperature: 0.7,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  background: false,
  max_output_tokens: 900,
  max_tool_calls: null,
  previous_response_id: null,
  prompt: null,
  reasoning: null,
  service_tier: 'auto',
  status: 'completed',
  text: null,
  top_logprobs: null,
  truncation: 'disabled',
  usage: {
    ...usage,
    input_tokens_details: { cached_tokens: 4, input_tokens_per_turn: [], cached_tokens_per_turn: [] },
    output_tokens_details: { reasoning_tokens: 1, tool_output_tokens: 0 },
  },
  user: null,
  input_messages: null,
  output_messages: null,
});

/** All fields that llama.cpp sends. */
const ofLlamaCpp = (): Record<string, unknown> => ({
  completed_at: 1_763_000_001,
  created_at: 1_763_000_001,
  id: 'resp_1',
  model: 'model.gguf',
  object: 'response',
  output: [
    message({ annotations: [], logprobs: [] }),
    { type: 'function_call', status: 'completed', arguments: '{}', call_id: 'fc_1', name: 'f' },
  ],
  status: 'completed',
  usage: { ...usage },
});

const ENGINES: [string, () => Record<string, unknown>][] = [
  ['vLLM', ofVLLM],
  ['llama.cpp', ofLlamaCpp],
];

describe('a response of an engine', () => {
  for (const [engine, respond] of ENGINES)
    it(`has all that Open Responses requires, of ${engine}`, () => {
      const answer = respond();
      expect(findResponseFaults(answer)).to.not.be.empty;
      expect(completeResponse(answer, contextOf())).to.equal(true);
      expect(findResponseFaults(answer)).to.deep.equal([]);
      expect(answer).to.include({ model: MODEL, error: null, store: false });
      expect(answer).to.not.have.property('user');
      expect(answer.text).to.deep.equal({ format: { type: 'text' } });
      expect(completeResponse(answer, contextOf()), 'nothing is left to do').to.equal(false);
    });

  it('loses what is null of calls, tools and formats where OpenAI’s schema has no null', () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' };
    const tool = { type: 'function', name: 'f', parameters: null, description: null, strict: true };
    const format = { type: 'json_schema', name: 'ship', schema: {}, strict: true };
    const response: Record<string, unknown> = {
      ...ofVLLM(),
      output: [{ ...call, status: 'completed', namespace: null, async: null }],
      tools: [{ ...tool, async: null, defer_loading: null }],
      text: { format: { ...format, description: null } },
    };
    completeResponse(response, contextOf());
    expect(response.output).to.deep.equal([{ ...call, status: 'completed' }]);
    expect(response.tools).to.deep.equal([tool]);
    expect(response.text).to.deep.equal({ format });
  });

  it('is incomplete where llama.cpp calls it completed, though max_output_tokens cut it', () => {
    const answer = ofLlamaCpp();
    answer.output = [message({ annotations: [], logprobs: [] })];
    completeResponse(answer, contextOf({ max_output_tokens: 2 }));
    expect(answer).to.deep.include({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      completed_at: null,
    });
    expect(answer.output).to.have.nested.property('[0].status', 'incomplete');
    expect(findResponseFaults(answer)).to.deep.equal([]);
  });

  it('stays complete below max_output_tokens, and where the engine says so itself', () => {
    for (const [answer, most] of [
      [ofLlamaCpp(), 3],
      [ofVLLM(), 2],
    ] as const) {
      completeResponse(answer, contextOf({ max_output_tokens: most }));
      expect(answer).to.include({ status: 'completed', incomplete_details: null });
    }
  });

  it('keeps what the engine tells', () => {
    const answer = ofVLLM();
    completeResponse(answer, contextOf({ temperature: 0.1, max_output_tokens: 5 }));
    expect(answer).to.include({ temperature: 0.7, max_output_tokens: 900, created_at: 1_763_000_000 });
    expect(answer.usage).to.deep.include({ ...usage, input_tokens_details: { ...ofVLLMDetails() } });
  });
  const ofVLLMDetails = () => (ofVLLM().usage as { input_tokens_details: object }).input_tokens_details;

  it('says again what was asked for, where the engine does not', () => {
    const format = { type: 'json_schema', name: 'größe', schema: { type: 'object' } };
    const request = {
      input: 'hi',
      instructions: 'Sprich wie ein Pirat: „Ahoi“.',
      metadata: { trace: '1' },
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 60,
      text: { format, verbosity: 'low' },
      reasoning: { effort: 'low' },
      truncation: 'auto',
      prompt_cache_key: 'k',
    };
    const answer = ofLlamaCpp();
    completeResponse(answer, contextOf(request));
    const { input, tools, reasoning, ...same } = request;
    expect(answer).to.deep.include(same);
    expect(answer.tools).to.deep.equal([
      { type: 'function', name: 'f', description: null, parameters: null, strict: null },
    ]);
    expect(answer.reasoning).to.deep.equal({ effort: 'low', summary: null });
    expect(findResponseFaults(answer)).to.deep.equal([]);
  });

  it('takes null in the request as absent', () => {
    const answer = ofLlamaCpp();
    completeResponse(answer, contextOf({ temperature: null, tools: null, text: null, metadata: null }));
    expect(findResponseFaults(answer)).to.deep.equal([]);
  });

  it('does not repeat what is very large', () => {
    const answer = ofLlamaCpp();
    const tools = [{ type: 'function', name: 'f', description: 'x'.repeat(1024 * 1024) }];
    completeResponse(answer, contextOf({ tools, temperature: 0.5 }));
    expect(answer).to.deep.include({ tools: [], temperature: 0.5 });
  });

  it('tells when it was completed, where that is known', () => {
    const at = (status: string) => {
      const answer = { status, created_at: 1 };
      completeResponse(answer, contextOf());
      return (answer as Record<string, unknown>).completed_at;
    };
    expect([at('completed'), at('in_progress'), at('incomplete')]).to.deep.equal([1_763_000_000, null, null]);
  });
});
