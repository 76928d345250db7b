/** The events of OpenAI's Responses and of Anthropic's Messages. */
import { isObject } from '../../kit/json.ts';
import type { ApiError } from '../http/error-response.ts';
import { readMessagesUsage, readResponsesUsage } from './answer.ts';
import { EngineAbortedError, findAbortedError, findEngineError } from './engine-error.ts';
import type { EventDialect, EventPayload } from './event-filter.ts';

/** Engines' own words for a failure that says nothing. */
const UNTOLD = { message: 'The engine ended its response as failed.' };

const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Engines' complaints: named so, or in the words of their other answers. */
const findError = (name: string, payload: EventPayload): ApiError | null =>
  findEngineError(name === 'error' ? { error: payload.error ?? payload } : payload);

/** Where an engine ends an answer by itself, it says at least the token of the end. */
const hasNoTokens = (usage: unknown): boolean => isObject(usage) && usage.output_tokens === 0;

export const RESPONSES: EventDialect = {
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

export const MESSAGES: EventDialect = {
  isOutput: (name) => name === 'content_block_delta',
  isEnd: (name) => name === 'message_stop',
  findFailure: (name, payload, isEmpty): ApiError | null => {
    if (name !== 'message_delta') return findError(name, payload);
    // vLLM has no word for it here, and ends a message that it gave up before its first token like a complete one.
    const stop = isObject(payload.delta) ? payload.delta.stop_reason : undefined;
    const isAborted = stop === null || (isEmpty && stop === 'end_turn' && hasNoTokens(payload.usage));
    return isAborted ? new EngineAbortedError() : null;
  },
  findUsage: ({ message, usage }) => usage ?? (isObject(message) && message.usage),
  readUsage: readMessagesUsage,
};
