/** Chat, completions and embeddings (docs/api.md, "POST /v1/chat/completions" and the two that follow). */
import { readUsage } from '../engine/answer.ts';
import { SseFilter } from '../engine/sse-filter.ts';
import { completeChat, completeCompletion, completeEmbedding } from './answer-schema.ts';
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
  stream: null,
  complete: (answer, modelId, { encoding }) => completeEmbedding(answer, modelId, encoding),
  readUsage,
};
