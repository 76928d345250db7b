/** Types that every response must match, from the OpenAI SDK's published declarations. */
import type {
  RawMessageStreamEvent as AnthropicEvent,
  Message as AnthropicMessage,
  MessageTokensCount,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CreateEmbeddingResponse,
  ImageEditCompletedEvent,
  ImageGenCompletedEvent,
  ImagesResponse,
  Model,
  Video as OpenAIVideo,
} from 'openai/resources';
import type { InputTokenCountResponse } from 'openai/resources/responses/input-tokens';
import type {
  Response as OpenAIResponse,
  ResponseUsage as OpenAIResponseUsage,
  ResponseStreamEvent as OpenAIStreamEvent,
} from 'openai/resources/responses/responses';

export type {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CreateEmbeddingResponse,
  ImageEditCompletedEvent,
  ImageGenCompletedEvent,
  ImagesResponse,
  Model,
};

/** OpenAI's has four sizes only, and no status for canceled videos. */
export type Video = Omit<OpenAIVideo, 'size' | 'status'> & {
  size: string;
  status: OpenAIVideo['status'] | 'canceled';
};

/** As the SDKs' cursor pages read it. */
export interface VideoList {
  object: 'list';
  data: Video[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** Berth's own (docs/api.md, "Acknowledgement"). */
export interface Acknowledgement {
  id: string;
  object: 'inference.request';
  status: 'queued';
  modality: 'image' | 'video';
  estimated_seconds: number;
}

/** Berth's own (docs/api.md, "Request"). */
export interface InferenceRequest {
  id: string;
  object: 'inference.request';
  modality: 'image' | 'video';
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';
  output_object_key: string | null;
  output_bucket: string | null;
  storage_provider: string | null;
  output_urls?: string[];
  error_code: string | null;
  error_message: string | null;
  queued_at: number;
  started_at: number | null;
  completed_at: number | null;
}

export interface RequestList {
  object: 'list';
  data: InferenceRequest[];
}

/** The SDK has one type for both, but only the last chunk has a finish reason. */
export type CompletionChunk = Omit<Completion, 'choices'> & {
  choices: (Omit<Completion['choices'][number], 'finish_reason'> & {
    finish_reason: Completion['choices'][number]['finish_reason'] | null;
  })[];
};

/** Without fields that the SDK adds, or only OpenAI has. */
export type Response = Omit<OpenAIResponse, 'output_text' | 'access_programs' | 'usage'> & {
  usage: ResponseUsage | null;
};
type ResponseUsage = Omit<OpenAIResponseUsage, 'input_tokens_details'> & {
  input_tokens_details: { cached_tokens: number };
};

export type ResponseStreamEvent =
  | Exclude<OpenAIStreamEvent, { response: unknown }>
  | {
      type:
        | 'response.created'
        | 'response.in_progress'
        | 'response.completed'
        | 'response.incomplete'
        | 'response.failed';
      sequence_number: number;
      response: Response;
    };

export type { InputTokenCountResponse, MessageTokensCount };

/** Without fields that only Anthropic has, such as citations, callers of tools and containers. */
type Block = Omit<TextBlock, 'citations'> | Omit<ToolUseBlock, 'caller'> | Omit<ThinkingBlock, 'signature'>;

export type Message = Pick<
  AnthropicMessage,
  'id' | 'type' | 'role' | 'model' | 'stop_reason' | 'stop_sequence'
> & {
  content: Block[];
  usage: { input_tokens: number; output_tokens: number };
};

export type MessageEvent =
  | Exclude<AnthropicEvent, { type: 'message_start' | 'message_delta' | 'content_block_start' }>
  | { type: 'ping' }
  | { type: 'message_start'; message: Message }
  | { type: 'content_block_start'; index: number; content_block: Block }
  | {
      type: 'message_delta';
      delta: Pick<AnthropicMessage, 'stop_reason' | 'stop_sequence'>;
      usage: { output_tokens: number };
    };
