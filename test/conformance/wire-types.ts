/** The types whose JSON every answer must match, taken from the OpenAI SDK's own published declarations. */
import type {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CreateEmbeddingResponse,
  Model,
} from 'openai/resources';

export type { ChatCompletion, ChatCompletionChunk, Completion, CreateEmbeddingResponse, Model };
