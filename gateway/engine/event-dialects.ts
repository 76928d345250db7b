/** The events of OpenAI's Responses and of Anthropic's Messages. */
import type { ApiError } from '../http/error-response.ts';
import { readMessagesUsage, readResponsesUsage } from './answer.ts';
import { findEngineError } from './engine-error.ts';
import type { EventDialect, EventPayload } from './event-filter.ts';

const isRecord = (value: unknown): value is EventPayload => typeof value === 'object' && value !== null;

/** Engines' own words for a failure that says nothing. */
const UNTOLD = { message: 'The engine ended its response as failed.' };

const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

export const RESPONSES: EventDialect = {
  isOutput: (name) => name.endsWith('.delta'),
  isEnd: (name) => RESPONSE_ENDS.has(name),
  findFailure: (name, payload): ApiError | null => {
    if (name === 'error') return findEngineError({ error: payload.error ?? payload });
    if (name !== 'response.failed') return null;
    const { response } = payload;
    return findEngineError({ error: (isRecord(response) && response.error) || UNTOLD });
  },
  findAnswer: ({ response }) => response,
  findUsage: ({ response }) => isRecord(response) && response.usage,
  readUsage: readResponsesUsage,
};

export const MESSAGES: EventDialect = {
  isOutput: (name) => name === 'content_block_delta',
  isEnd: (name) => name === 'message_stop',
  findFailure: (name, payload): ApiError | null =>
    name === 'error' ? findEngineError({ error: payload.error ?? payload }) : null,
  findAnswer: ({ message }) => message,
  findUsage: ({ message, usage }) => usage ?? (isRecord(message) && message.usage),
  readUsage: readMessagesUsage,
};
