/** The types whose JSON every answer must match, taken from the OpenAI SDK's own published declarations. */
import type {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CreateEmbeddingResponse,
  Model,
} from 'openai/resources';

export type { ChatCompletion, ChatCompletionChunk, Completion, CreateEmbeddingResponse, Model };

/** The SDK declares one type for both; a chunk before the last has no reason to finish yet. */
export type CompletionChunk = Omit<Completion, 'choices'> & {
  choices: (Omit<Completion['choices'][number], 'finish_reason'> & {
    finish_reason: Completion['choices'][number]['finish_reason'] | null;
  })[];
};
