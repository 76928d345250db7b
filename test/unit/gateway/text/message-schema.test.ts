import { expect } from 'chai';
import { openMessagesDialect } from '../../../../gateway/engine/event-dialects.ts';
import { EventFilter } from '../../../../gateway/engine/event-filter.ts';
import { completeMessage, completeMessageEvents } from '../../../../gateway/text/message-schema.ts';
import { readEvents, writeEvents } from '../../../support/named-events.ts';

const MODEL = 'org/m';

describe('a message of an engine', () => {
  it('tells the stop sequence, if only that there was none', () => {
    const answer: Record<string, unknown> = {
      type: 'message',
      role: 'assistant',
      content: [],
      model: MODEL,
      stop_reason: 'end_turn',
    };
    expect(completeMessage(answer, MODEL)).to.equal(true);
    expect(answer.stop_sequence).to.equal(null);
    expect(completeMessage(answer, MODEL)).to.equal(false);
  });

  it('is completed in its stream, as that of vLLM, which leaves out what it did not set, and of llama.cpp', () => {
    const filter = new EventFilter(openMessagesDialect(), completeMessageEvents(MODEL));
    const engine = writeEvents([
      {
        type: 'message_start',
        message: {
          id: 'chatcmpl-1',
          content: [],
          model: '/weights',
          usage: { input_tokens: 5, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'call_1', name: 'f' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{}' },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use' },
        usage: { input_tokens: 5, output_tokens: 2 },
      },
      { type: 'message_stop' },
    ]);
    const events = readEvents(filter.push(Buffer.from(engine)) ?? '');
    expect(events[0]!.message).to.deep.equal({
      id: 'chatcmpl-1',
      type: 'message',
      role: 'assistant',
      content: [],
      model: MODEL,
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 0 },
    });
    expect(events[1]!.content_block).to.deep.include({ type: 'tool_use', input: {} });
    expect(events[2]!.delta).to.deep.equal({ type: 'input_json_delta', partial_json: '{}' });
    expect(events[4]!.delta).to.deep.equal({ stop_reason: 'tool_use', stop_sequence: null });
    expect(filter.isDone).to.equal(true);
  });
});
