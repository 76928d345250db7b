/**
 * The objects that an endpoint returns (docs/api.md, "Objects"). The gateway's responses are typed by these schemas,
 * and the OpenAPI document is generated from them.
 */
import { z } from 'zod';
import { BATCH_STATUSES } from './batch.ts';
import { MODALITIES, REQUEST_STATUSES, VIDEO_STATUS, type VideoStatus } from './request.ts';

const unixSeconds = (what: string) => z.int().describe(`${what}, in Unix seconds.`);
const requestId = z
  .string()
  .regex(/^req_[0-9a-f]{32}$/)
  .describe('Id of the request.');

export const errorEnvelope = z.object({
  error: z.object({
    message: z.string().describe('What is wrong, and which values are allowed where they are known.'),
    type: z.string().describe('Class of the error, as defined by OpenAI.'),
    param: z.string().nullable().describe('The field, query parameter or header that is wrong.'),
    code: z.string().nullable().describe('Stable code of the error; see the list of errors.'),
    documentation_url: z.string().optional().describe('Where the code is documented, if this is published.'),
  }),
});
export type ErrorEnvelope = z.infer<typeof errorEnvelope>;

const steps = z.object({ min: z.int(), max: z.int(), default: z.int() });

const supportedTask = z.object({
  parameters: z.array(z.string()).describe('Request parameters that the model applies; others are ignored.'),
  num_inference_steps: steps.optional().describe('Values outside the range are clamped.'),
});
export type SupportedTask = z.infer<typeof supportedTask>;

export const modelObject = z.object({
  id: z.string().describe('Value of `model` in requests.'),
  object: z.literal('model'),
  created: unixSeconds('When the deployment was created'),
  owned_by: z.string(),
  display_name: z.string(),
  permission: z.array(z.unknown()),
  routes: z.array(z.string()).describe('Paths of the inference routes that this deployment serves.'),
  max_model_len: z
    .int()
    .optional()
    .describe('Maximum tokens of a request, prompt and output together; absent until the engine reports it.'),
  supported_parameters: z
    .record(z.string(), supportedTask)
    .optional()
    .describe('By task; of image and video models only.'),
});
export type ModelObject = z.infer<typeof modelObject>;

export const modelList = z.object({ object: z.literal('list'), data: z.array(modelObject).length(1) });
export type ModelList = z.infer<typeof modelList>;

export const acknowledgement = z.object({
  id: requestId,
  object: z.literal('inference.request'),
  status: z
    .enum(REQUEST_STATUSES)
    .describe('`queued`, unless the response is a repeat by an idempotency key.'),
  modality: z.enum(MODALITIES),
  estimated_seconds: z.int().describe('Estimated time until the result is ready.'),
});
export type Acknowledgement = z.infer<typeof acknowledgement>;

export const requestObject = z.object({
  id: requestId,
  object: z.literal('inference.request'),
  modality: z.enum(MODALITIES),
  status: z.enum(REQUEST_STATUSES),
  output_object_key: z.string().nullable().describe('Key of the first stored file.'),
  output_bucket: z.string().nullable(),
  storage_provider: z.string().nullable().describe('null for managed storage.'),
  output_urls: z
    .array(z.string())
    .optional()
    .describe('A signed link per file; only in the detail of a succeeded request.'),
  error_code: z.string().nullable().describe('Why it failed.'),
  error_message: z.string().nullable(),
  queued_at: unixSeconds('When it was accepted'),
  started_at: unixSeconds('When a worker last started it').nullable(),
  completed_at: unixSeconds('When it ended').nullable(),
});
export type RequestObject = z.infer<typeof requestObject>;

export const requestList = z.object({ object: z.literal('list'), data: z.array(requestObject) });
export type RequestList = z.infer<typeof requestList>;

const VIDEO_STATUSES = Object.values(VIDEO_STATUS) as [VideoStatus, ...VideoStatus[]];

export const videoObject = z.object({
  id: requestId,
  object: z.literal('video'),
  status: z.enum(VIDEO_STATUSES),
  model: z.string(),
  progress: z
    .int()
    .min(0)
    .max(100)
    .describe('0 while queued, an estimate up to 99 while it runs, 100 when completed.'),
  created_at: unixSeconds('When it was accepted'),
  completed_at: unixSeconds('When it ended').nullable(),
  expires_at: unixSeconds('When its file is removed').nullable(),
  size: z.string().describe('WIDTHxHEIGHT.'),
  seconds: z.string().describe('Duration of the generated clip: frames divided by frame rate.'),
  prompt: z.string().nullable(),
  remixed_from_video_id: z.null(),
  error: z
    .object({ code: z.string().nullable(), message: z.string().nullable() })
    .nullable()
    .describe('Present when the status is `failed`.'),
});
export type VideoObject = z.infer<typeof videoObject>;

export const videoList = z.object({
  object: z.literal('list'),
  data: z.array(videoObject),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});
export type VideoList = z.infer<typeof videoList>;

export const imageList = z.object({
  created: unixSeconds('When the images were generated'),
  data: z.array(
    z.object({
      url: z.string().optional().describe('A signed link, with `response_format: url`.'),
      b64_json: z.string().optional().describe('The image itself, with `response_format: b64_json`.'),
    }),
  ),
});
export type ImageList = z.infer<typeof imageList>;

const usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int().optional(),
  total_tokens: z.int(),
});
const completionBasics = { id: z.string(), created: unixSeconds('When it was created'), model: z.string() };
const finishReason = z.string().nullable().describe('`stop`, `length` or an engine-specific reason.');

/** Common to every engine's response; further fields of OpenAI's schema pass unchanged. */
export const chatCompletion = z.object({
  ...completionBasics,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.string(), content: z.string().nullable(), refusal: z.string().nullable() }),
      finish_reason: finishReason,
    }),
  ),
  usage: usage.optional(),
});

export const completion = z.object({
  ...completionBasics,
  object: z.literal('text_completion'),
  choices: z.array(z.object({ index: z.int(), text: z.string(), finish_reason: finishReason })),
  usage: usage.optional(),
});

const outputUsage = z.object({ input_tokens: z.int(), output_tokens: z.int() });

/** OpenAI's Response. */
export const response = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number().describe('When it was created, in Unix seconds.'),
  model: z.string(),
  status: z.string().describe('`completed`, or `incomplete` when a limit cut it.'),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: outputUsage.nullish(),
});

/** Anthropic's Message. */
export const message = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullish(),
  usage: outputUsage,
});

export const inputTokens = z.object({ object: z.literal('response.input_tokens'), input_tokens: z.int() });

export const tokenCount = z.object({ input_tokens: z.int() });

/** Anthropic's envelope. */
export const anthropicError = z.object({
  type: z.literal('error'),
  error: z.object({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});

/** Cohere's message beside the common envelope. */
export const cohereError = errorEnvelope.extend({ message: z.string().describe('The same as within.') });

export const embeddingList = z.object({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe('Numbers, or with `encoding_format: base64` little-endian 32-bit floats in base64.'),
    }),
  ),
  usage: usage.optional(),
});

const ranked = {
  id: z.string(),
  model: z.string(),
  results: z
    .array(
      z.object({
        index: z.int().describe('Of the text in `documents`.'),
        relevance_score: z.number(),
        document: z
          .object({ text: z.string() })
          .optional()
          .describe('Absent if the engine does not return the texts.'),
      }),
    )
    .describe('The most relevant first.'),
  usage,
};

export const rerankList = z.object({ ...ranked, object: z.literal('list') });

/** Response of Cohere's API v2. */
export const rerankListV2 = z.object({
  ...ranked,
  meta: z.object({
    api_version: z.object({ version: z.literal('2') }),
    tokens: z.object({ input_tokens: z.int() }),
  }),
});

export const scoreList = z.object({
  ...completionBasics,
  object: z.literal('list'),
  data: z.array(z.object({ index: z.int(), object: z.literal('score'), score: z.number() })),
  usage,
});

export const tokenList = z.object({
  count: z.int(),
  max_model_len: z
    .int()
    .nullable()
    .describe('Maximum tokens of a request; null if the engine does not report it.'),
  tokens: z.array(z.int()),
  token_strs: z.array(z.string()).nullish().describe('With `return_token_strs`, if the engine reports them.'),
});

export const detokenizedText = z.object({ prompt: z.string() });

/** Further members (`language`, `duration`, `segments` …) with `verbose_json`. */
export const transcript = z.object({
  text: z.string(),
  usage: z.object({ type: z.string(), seconds: z.number().optional().describe('Of the audio.') }).optional(),
});

const batchError = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().nullable().describe('Number of the line, from 1 on.'),
});

export const fileObject = z.object({
  id: z.string().describe('Id of the file.'),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: unixSeconds('When it was uploaded or written'),
  expires_at: unixSeconds('When it is removed'),
  filename: z.string(),
  purpose: z.enum(['batch', 'batch_output']),
  status: z.enum(['processed', 'error']).describe('`error`: a batch of this file fails.'),
  status_details: z.string().nullable(),
});
export type FileObject = z.infer<typeof fileObject>;

const listOf = <T extends z.ZodType>(item: T) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
export const fileList = listOf(fileObject);
export type FileList = z.infer<typeof fileList>;

export const fileDeletion = z.object({
  id: z.string(),
  object: z.literal('file'),
  deleted: z.literal(true),
});
export type FileDeletion = z.infer<typeof fileDeletion>;

const maybeSeconds = (what: string) => z.int().nullable().describe(`${what}, in Unix seconds.`);

export const batchObject = z.object({
  id: z.string().describe('Id of the batch.'),
  object: z.literal('batch'),
  endpoint: z.string(),
  model: z.string(),
  errors: z
    .object({ object: z.literal('list'), data: z.array(batchError) })
    .nullable()
    .describe('Why the batch failed: its first errors.'),
  input_file_id: z.string(),
  completion_window: z.string(),
  status: z.enum(BATCH_STATUSES),
  output_file_id: z.string().nullable().describe('Lines that were answered; null without any.'),
  error_file_id: z.string().nullable().describe('Lines that were refused or not run; null without any.'),
  created_at: unixSeconds('When it was created'),
  in_progress_at: maybeSeconds('When its lines may run'),
  expires_at: unixSeconds('When its window ends'),
  finalizing_at: maybeSeconds('When its window had ended'),
  completed_at: maybeSeconds('When it completed'),
  failed_at: maybeSeconds('When it failed'),
  expired_at: maybeSeconds('When it expired'),
  cancelling_at: maybeSeconds('When it was asked to end'),
  cancelled_at: maybeSeconds('When it was cancelled'),
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  usage: z.object({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
});
export type BatchObject = z.infer<typeof batchObject>;
export const batchList = listOf(batchObject);
export type BatchList = z.infer<typeof batchList>;
