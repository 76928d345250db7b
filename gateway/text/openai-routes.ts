/** Chat, completions and embeddings (docs/api.md, "POST /v1/chat/completions" and the two that follow). */
import type { JSONObject } from '../../kit/json-object.ts';
import { readUsage } from '../engine/answer.ts';
import { SseFilter } from '../engine/sse-filter.ts';
import { ApiError } from '../http/error-response.ts';
import { completeChat, completeCompletion, completeEmbedding } from './answer-schema.ts';
import { readContinuable } from './continuation.ts';
import { CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS } from './fields.ts';
import { readBodyMedia as readMedia } from './message-media.ts';
import type { TextRoute } from './text-route.ts';

const chunks: TextRoute['stream'] = {
  needsUsageOption: true,
  watch: (modelId, { isUsageWanted }) => new SseFilter({ modelId, isUsageWanted }),
};

export const CHAT: TextRoute = {
  path: '/v1/chat/completions',
  fields: CHAT_FIELDS,
  readMedia,
  stream: chunks,
  readContinuable,
  complete: completeChat,
  readUsage,
};

export const COMPLETIONS: TextRoute = {
  path: '/v1/completions',
  fields: COMPLETION_FIELDS,
  readMedia,
  stream: chunks,
  complete: completeCompletion,
  readUsage,
};

export const EMBEDDINGS: TextRoute = {
  path: '/v1/embeddings',
  fields: EMBEDDING_FIELDS,
  readMedia,
  translate: (body, preset) => {
    checkEmbedded(body, preset);
    return { path: '/v1/embeddings' };
  },
  stream: null,
  complete: (answer, modelId, { encoding }) => completeEmbedding(answer, modelId, encoding),
  readUsage,
};

/** Texts, or a conversation, which vLLM alone embeds, with its images. */
function checkEmbedded({ input, messages }: JSONObject, preset: string): void {
  const hasMessages = messages !== undefined && messages !== null;
  if (input === undefined || input === null) {
    if (!hasMessages)
      throw refuse('input', `\`input\` is required: it must be ${EMBEDDING_FIELDS.input!.allowed}.`);
    if (preset === 'vllm') return;
    throw refuse(
      'messages',
      `\`messages\` cannot be embedded by the engine of this deployment (${preset}): send \`input\`.`,
    );
  }
  if (hasMessages) throw refuse('messages', '`messages` and `input` exclude each other: send one of them.');
}

const refuse = (param: string, message: string) => new ApiError('invalid_request_error', message, { param });
