import { expect } from 'chai';
import { RESPONSES_DIALECT } from '../../../../gateway/engine/event-dialects.ts';
import { EventFilter } from '../../../../gateway/engine/event-filter.ts';
import { ResponseEvents } from '../../../../gateway/text/response-events.ts';
import { type NamedEvent, readEvents, writeEvents } from '../../../support/named-events.ts';
import { findEventFaults } from '../../../support/open-responses.ts';

const MODEL = 'org/m';
const tool = { type: 'function', name: 'get_weather', parameters: { type: 'object' } };

function pass(events: readonly NamedEvent[], size = 1_000_000, more: object = {}) {
  const request: Record<string, unknown> = { tools: [tool], temperature: 0.2, ...more };
  let seconds = 1_763_000_000;
  const context = {
    modelId: MODEL,
    echo: { read: (name: string) => request[name] },
    now: () => seconds++ * 1000,
  };
  const filter = new EventFilter(RESPONSES_DIALECT, new ResponseEvents(context));
  const bytes = Buffer.from(writeEvents(events));
  let output = '';
  for (let start = 0; start < bytes.length; start += size)
    output += filter.push(bytes.subarray(start, start + size)) ?? '';
  return { filter, text: Buffer.from(output, 'latin1').toString(), events: readEvents(output) };
}

const begun = { id: 'resp_1', object: 'response', status: 'in_progress' };
const usage = { input_tokens: 7, output_tokens: 4, total_tokens: 11 };

/** llama.cpp's have no sequence number, and the first ones no model. */
const LLAMA_CPP: NamedEvent[] = [
  { type: 'response.created', response: begun },
  { type: 'response.in_progress', response: begun },
  {
    type: 'response.output_item.added',
    item: {
      id: 'rs_1',
      summary: [],
      type: 'reasoning',
      content: [],
      encrypted_content: '',
      status: 'in_progress',
    },
  },
  { type: 'response.reasoning_text.delta', delta: 'hm', item_id: 'rs_1' },
  {
    type: 'response.output_item.added',
    item: { content: [], id: 'msg_1', role: 'assistant', status: 'in_progress', type: 'message' },
  },
  { type: 'response.content_part.added', item_id: 'msg_1', part: { type: 'output_text', text: '' } },
  { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'grö' },
  { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'ße' },
  {
    type: 'response.output_item.added',
    item: {
      id: 'fc_1',
      arguments: '',
      call_id: 'call_1',
      name: 'f',
      type: 'function_call',
      status: 'in_progress',
    },
  },
  { type: 'response.function_call_arguments.delta', delta: '{}', item_id: 'fc_1' },
  {
    type: 'response.output_item.done',
    item: { id: 'rs_1', summary: [], type: 'reasoning', content: [{ text: 'hm', type: 'reasoning_text' }] },
  },
  { type: 'response.output_text.done', item_id: 'msg_1', text: 'größe' },
  {
    type: 'response.content_part.done',
    item_id: 'msg_1',
    part: { type: 'output_text', annotations: [], logprobs: [], text: 'größe' },
  },
  {
    type: 'response.output_item.done',
    item: {
      type: 'message',
      status: 'completed',
      id: 'msg_1',
      content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'größe' }],
      role: 'assistant',
    },
  },
  {
    type: 'response.output_item.done',
    item: {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      arguments: '{}',
      call_id: 'call_1',
      name: 'f',
    },
  },
  {
    type: 'response.completed',
    response: {
      ...begun,
      created_at: 1_763_000_009,
      status: 'completed',
      model: 'm.gguf',
      output: [],
      usage,
    },
  },
];

/** vLLM's, which need no correction. */
const delta = (sequence: number): NamedEvent => ({
  type: 'response.output_text.delta',
  content_index: 0,
  delta: ' größe',
  item_id: 'msg_1',
  logprobs: [],
  output_index: 0,
  sequence_number: sequence,
});
const ofVLLM = (status: string, more: object) => ({
  ...begun,
  status,
  created_at: 1_763_000_000,
  model: '/weights',
  text: null,
  user: null,
  metadata: null,
  top_logprobs: null,
  output: [],
  tools: [],
  tool_choice: 'auto',
  ...more,
});
const VLLM: NamedEvent[] = [
  { type: 'response.created', sequence_number: 0, response: ofVLLM('in_progress', { usage: null }) },
  { type: 'response.in_progress', sequence_number: 1, response: ofVLLM('in_progress', { usage: null }) },
  delta(2),
  delta(3),
  { type: 'response.completed', sequence_number: 4, response: ofVLLM('completed', { usage }) },
];

describe('the events of a streamed response', () => {
  it('end as incomplete where llama.cpp says completed, though max_output_tokens cut the response', () => {
    const { events, filter, text } = pass(LLAMA_CPP, 1_000_000, { max_output_tokens: 4 });
    expect(events.at(-1)).to.have.property('type', 'response.incomplete');
    expect(events.at(-1)).to.have.nested.property('response.incomplete_details.reason', 'max_output_tokens');
    expect(text).to.include('event: response.incomplete\n').and.not.include('response.completed');
    expect(filter.isDone).to.equal(true);
  });

  for (const [engine, events] of [['llama.cpp', LLAMA_CPP] as const, ['vLLM', VLLM] as const])
    for (const size of [1, 50, 1_000_000])
      it(`have all that Open Responses requires, of ${engine}, in chunks of ${size} bytes`, () => {
        expect(events.flatMap(findEventFaults)).to.not.be.empty;
        const passed = pass(events, size);
        expect(passed.events.flatMap(findEventFaults)).to.deep.equal([]);
        expect(passed.filter.isDone).to.equal(true);
        expect(passed.filter.usage).to.include({ inputTokens: 7, outputTokens: 4 });
        for (const { response } of passed.events)
          if (response) expect(response).to.include({ model: MODEL, store: false, error: null });
      });

  it('are numbered, and say which item they are about, where the engine does not', () => {
    const { events } = pass(LLAMA_CPP);
    expect(events.map(({ sequence_number }) => sequence_number)).to.deep.equal([...LLAMA_CPP.keys()]);
    const places = Object.fromEntries(
      events.map(({ item, item_id, output_index }) => [item?.id ?? item_id, output_index]),
    );
    expect(places).to.deep.include({ rs_1: 0, msg_1: 1, fc_1: 2 });
    const text = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(text.map((event) => event.delta).join('')).to.equal('größe');
    expect(text[0]).to.deep.include({ content_index: 0, logprobs: [] });
  });

  it('repeat what was asked for, and tell one time of their beginning', () => {
    const responses = pass(LLAMA_CPP).events.flatMap(({ response }) => (response ? [response] : []));
    expect(responses.map(({ temperature }) => temperature)).to.deep.equal([0.2, 0.2, 0.2]);
    expect((responses[2]!.tools as object[])[0]).to.include({ name: 'get_weather', strict: null });
    expect(new Set(responses.map(({ created_at }) => created_at)).size).to.equal(1);
  });

  it('pass as they are where the engine numbers them and they carry output', () => {
    const { text, filter } = pass(VLLM);
    expect(text).to.include(writeEvents([delta(2), delta(3)]));
    expect(filter.estimatedTokens).to.equal(2);
  });
});
