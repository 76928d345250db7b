/** The events of OpenAI's Responses and of Anthropic's Messages. */
import { isObject } from '../../kit/json.ts';
import type { ApiError } from '../http/error-response.ts';
import { readMessagesUsage, readResponsesUsage } from './answer.ts';
import { EngineAbortedError, findAbortedError, findEngineError } from './engine-error.ts';
import type { EventDialect, EventPayload } from './event-filter.ts';

/** Engines' generic error texts. */
const UNTOLD = { message: 'The engine ended its response as failed.' };

const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Engines' errors: events named so, or in the format of their other responses. */
const findError = (name: string, payload: EventPayload): ApiError | null =>
  findEngineError(name === 'error' ? { error: payload.error ?? payload } : payload);

/** If an engine ends a response by itself, it has generated at least the end token. */
const hasNoTokens = (usage: unknown): boolean => isObject(usage) && usage.output_tokens === 0;

export const RESPONSES_DIALECT: EventDialect = {
  isOutput: (name) => name.endsWith('.delta'),
  isEnd: (name) => RESPONSE_ENDS.has(name),
  findFailure: (name, payload, isEmpty): ApiError | null => {
    if (!RESPONSE_ENDS.has(name)) return findError(name, payload);
    const response = isObject(payload.response) ? payload.response : {};
    if (isEmpty && name === 'response.completed' && hasNoTokens(response.usage))
      return new EngineAbortedError();
    if (name !== 'response.failed') return findAbortedError(response);
    return findEngineError({ error: response.error || UNTOLD });
  },
  findUsage: ({ response }) => isObject(response) && response.usage,
  readUsage: readResponsesUsage,
};

/** For one message. */
export function openMessagesDialect(): EventDialect {
  let hasStopReason = false;
  return {
    isOutput: (name) => name === 'content_block_delta',
    isEnd: (name) => name === 'message_stop',
    findFailure: (name, payload, isEmpty): ApiError | null => {
      if (name === 'message_stop') return hasStopReason ? null : new EngineAbortedError();
      if (name !== 'message_delta') return findError(name, payload);
      const stop = isObject(payload.delta) ? payload.delta.stop_reason : null;
      hasStopReason ||= typeof stop === 'string';
      // vLLM ends a message that it aborted before its first token like a complete one.
      return isEmpty && stop === 'end_turn' && hasNoTokens(payload.usage) ? new EngineAbortedError() : null;
    },
    findUsage: ({ message, usage }) => usage ?? (isObject(message) && message.usage),
    readUsage: readMessagesUsage,
  };
}
