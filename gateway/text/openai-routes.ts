/** Chat, completions and embeddings (docs/api.md, "POST /v1/chat/completions" and the two that follow). */
import { traitsOf } from '../../api/engine-traits.ts';
import type { JSONObject } from '../../kit/json.ts';
import { readOpenAIUsage } from '../engine/answer.ts';
import { completeChoiceUsage } from '../engine/choice-usage.ts';
import { SseFilter } from '../engine/sse-filter.ts';
import { estimateOutput } from '../engine/token-estimate.ts';
import { completeVectors, FLOATS, isBytes, readFormat, type VectorsRequest } from '../engine/vectors.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { completeChat, completeCompletion, completeModel } from './answer-schema.ts';
import { readContinuable } from './continuation.ts';
import { CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS } from './fields.ts';
import { readBodyMedia as readMedia } from './message-media.ts';
import type { TextRoute } from './text-route.ts';

const chunks: TextRoute['stream'] = {
  needsUsageOption: true,
  watch: (modelId, { isUsageWanted, n }) => new SseFilter({ modelId, isUsageWanted, n }),
};

export const CHAT: TextRoute = {
  path: '/v1/chat/completions',
  fields: CHAT_FIELDS,
  readMedia,
  readPrompt: ({ cache_salt: salt, tools, messages }) => [salt, tools, ...(messages as unknown[])],
  stream: chunks,
  readContinuable,
  complete: (answer, modelId, { promptSizes }) => {
    const isCounted = completeChoiceUsage(answer, promptSizes);
    return completeChat(answer, modelId) || isCounted;
  },
  readUsage: readOpenAIUsage,
  estimateOutput,
};

export const COMPLETIONS: TextRoute = {
  path: '/v1/completions',
  fields: COMPLETION_FIELDS,
  readMedia,
  readPrompt: ({ cache_salt: salt, prompt }) => [salt, prompt],
  stream: chunks,
  complete: (answer, modelId, { promptSizes }) => {
    const isCounted = completeChoiceUsage(answer, promptSizes);
    return completeCompletion(answer, modelId) || isCounted;
  },
  readUsage: readOpenAIUsage,
  estimateOutput,
};

export const EMBEDDINGS: TextRoute = {
  path: '/v1/embeddings',
  fields: EMBEDDING_FIELDS,
  readMedia,
  translate: (body, preset) => {
    checkEmbedded(body, preset);
    checkEncoding(body, preset);
    // Its response reports usage in a header, which a response of only bytes lacks.
    const fixed = body.encoding_format === 'bytes_only' && BYTES;
    return { path: '/v1/embeddings', ...(fixed && { fixed }) };
  },
  stream: null,
  readVectors,
  complete: (answer, modelId, { vectors }) => {
    const isChanged = completeVectors(answer, vectors!);
    return completeModel(answer, modelId) || isChanged;
  },
  readUsage: readOpenAIUsage,
  // Vectors are not tokens: only the input counts.
  estimateOutput: () => 0,
};

/** Texts, or a conversation with images, which only vLLM embeds. */
function checkEmbedded({ input, messages }: JSONObject, preset: string): void {
  const hasMessages = messages !== undefined && messages !== null;
  if (input === undefined || input === null) {
    if (!hasMessages) throw requireParameter('input', EMBEDDING_FIELDS.input!.allowed);
    if (traitsOf(preset).embedsMessages) return;
    throw refuseParameter(
      'unsupported_parameter',
      'messages',
      `\`messages\` cannot be embedded by the engine of this deployment (${preset}): send \`input\`.`,
    );
  }
  if (hasMessages)
    throw refuseParameter(
      'invalid_value',
      'messages',
      '`messages` and `input` are mutually exclusive: send one of them.',
    );
}

const BYTES = new Map([['encoding_format', '"bytes"']]);
/** Inputs that a header can describe: proxies accept 4 KiB of headers in total. */
const MAX_DESCRIBED = 32;
const MAX_IN_BYTES = 2_048;

/** Only vLLM returns vectors as bytes. */
function checkEncoding(body: JSONObject, preset: string): void {
  const { encoding_format: encoding } = body;
  if (!isBytes(encoding)) return;
  if (!traitsOf(preset).hasVectorFormats)
    throw refuseParameter(
      'unsupported_value',
      'encoding_format',
      `\`encoding_format\` "${encoding}" is not supported by the engine of this deployment (${preset}): use "float" or "base64".`,
    );
  const { count } = countInputs(body);
  const most = encoding === 'bytes' ? MAX_DESCRIBED : MAX_IN_BYTES;
  if (count <= most) return;
  const way = encoding === 'bytes' ? 'send fewer, or use "bytes_only"' : 'send fewer';
  throw refuseParameter(
    'array_above_max_length',
    'input',
    `\`input\` accepts at most ${most} items with "${encoding}", got ${count}: ${way}.`,
  );
}

/** A list of token IDs and a conversation are one input. */
function countInputs({ input }: JSONObject): Pick<VectorsRequest, 'member' | 'count'> {
  if (input === undefined || input === null) return { member: 'messages', count: 1 };
  return { member: 'input', count: Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1 };
}

/** Only vLLM can send other numbers than 32-bit floats. */
function readVectors(body: JSONObject, preset: string): VectorsRequest {
  return {
    ...countInputs(body),
    encoding: (body.encoding_format as VectorsRequest['encoding'] | null | undefined) ?? 'float',
    format:
      traitsOf(preset).hasVectorFormats && body.encoding_format === 'base64'
        ? readFormat(body.embed_dtype, body.endianness)
        : FLOATS,
  };
}
