/** Fills fields that Anthropic's schema requires and some engines omit, in whole messages and in events. */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { EventCompletion } from '../engine/event-filter.ts';
import { completeModel, fillAbsent, listOf } from './answer-schema.ts';

export function completeMessage(message: JSONObject, modelId: string): boolean {
  let isChanged = completeModel(message, modelId);
  isChanged = fillAbsent(message, 'type', 'message') || isChanged;
  isChanged = fillAbsent(message, 'role', 'assistant') || isChanged;
  isChanged = fillAbsent(message, 'content', []) || isChanged;
  isChanged = fillAbsent(message, 'stop_reason', null) || isChanged;
  isChanged = fillAbsent(message, 'stop_sequence', null) || isChanged;
  for (const block of listOf(message.content)) isChanged = completeBlock(block) || isChanged;
  return isChanged;
}

/** llama.cpp starts tool blocks without the `input` that is still to come. */
function completeBlock(block: JSONObject): boolean {
  return block.type === 'tool_use' && fillAbsent(block, 'input', {});
}

/** For streams: content deltas are complete in every engine. */
export const completeMessageEvents = (modelId: string): EventCompletion => ({
  isThorough: false,
  complete: (_, { message, delta, content_block: block }) => {
    if (isObject(message)) return completeMessage(message, modelId);
    if (isObject(block)) return completeBlock(block);
    return isObject(delta) && 'stop_reason' in delta && fillAbsent(delta, 'stop_sequence', null);
  },
});
