/** The events of a streamed message of Anthropic's. */

import type { Frame } from './answer.ts';
import type { ChatChoice } from './chat.ts';
import type { Fields } from './fields.ts';
import { splitTokens } from './text.ts';

export interface MessageBody extends Fields {
  content: Fields[];
  stop_reason: string;
  usage: Fields;
}

export function* streamMessage(message: MessageBody, choice: ChatChoice): Generator<Frame> {
  let step = 0;
  const frame = (type: string, more: object = {}): Frame => ({ step, data: { type, ...more } });
  const { usage, stop_reason, stop_sequence } = message;
  yield frame('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } },
  });
  yield frame('ping');
  for (const [index, block] of message.content.entries()) {
    yield frame('content_block_start', { index, content_block: empty(block) });
    for (const delta of listDeltas(block, choice)) {
      step++;
      yield frame('content_block_delta', { index, delta });
    }
    yield frame('content_block_stop', { index });
  }
  yield frame('message_delta', {
    delta: { stop_reason, stop_sequence },
    usage: { output_tokens: usage.output_tokens },
  });
  yield frame('message_stop');
}

const empty = (block: Fields): Fields =>
  block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };

const listDeltas = (block: Fields, { tokens }: ChatChoice): Fields[] =>
  block.type === 'text'
    ? tokens.map((text) => ({ type: 'text_delta', text }))
    : splitTokens(JSON.stringify(block.input)).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }));
