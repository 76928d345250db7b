/** The schemas of responses as JSON Schema, by their names in the OpenAPI document. */
import { z } from 'zod';
import {
  acknowledgement,
  anthropicError,
  batchList,
  batchObject,
  chatCompletion,
  cohereError,
  completion,
  detokenizedText,
  embeddingList,
  errorEnvelope,
  fileDeletion,
  fileList,
  fileObject,
  imageList,
  inputTokens,
  message,
  modelList,
  modelObject,
  requestList,
  requestObject,
  rerankList,
  rerankListV2,
  response,
  scoreList,
  tokenCount,
  tokenList,
  transcript,
  videoList,
  videoObject,
} from '../../api/api-objects.ts';
import type { JsonSchema } from '../text/fields.ts';

export const RESPONSE_SCHEMAS = {
  Error: errorEnvelope,
  AnthropicError: anthropicError,
  CohereError: cohereError,
  Model: modelObject,
  ModelList: modelList,
  ChatCompletion: chatCompletion,
  Completion: completion,
  Response: response,
  Message: message,
  TokenCount: tokenCount,
  InputTokens: inputTokens,
  EmbeddingList: embeddingList,
  RerankList: rerankList,
  RerankListV2: rerankListV2,
  ScoreList: scoreList,
  TokenList: tokenList,
  DetokenizedText: detokenizedText,
  TokenizerInfo: z.object({}),
  Transcript: transcript,
  ImageList: imageList,
  Acknowledgement: acknowledgement,
  Request: requestObject,
  RequestList: requestList,
  Video: videoObject,
  VideoList: videoList,
  File: fileObject,
  FileList: fileList,
  FileDeletion: fileDeletion,
  Batch: batchObject,
  BatchList: batchList,
  OpenAPI: z.object({ openapi: z.string(), info: z.unknown(), paths: z.unknown() }),
} as const satisfies Record<string, z.ZodType>;

/** Schemas of responses, which may have further members. */
export function describeSchema(name: keyof typeof RESPONSE_SCHEMAS): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(RESPONSE_SCHEMAS[name], {
    io: 'input',
    override: ({ jsonSchema }) => {
      // The limits of safe integers mean nothing to a reader.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return schema;
}
