/** POST /v1/embeddings: unit vectors; texts that share words have similar ones. */
import {
  type Answer,
  makeAnswerId,
  type PlanContext,
  readUnixSeconds,
  sumUsage,
  type Usage,
} from './answer.ts';
import { refuse } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type Fields, readChoice, readInteger } from './fields.ts';
import { readConversation } from './messages.ts';
import type { Personality } from './personality.ts';
import { createRandom, hashText } from './random.ts';
import { checkBatch } from './tei.ts';
import { isBatch, readInputs, type TextInput } from './text-input.ts';

const JSON_ENCODINGS = ['float', 'base64'] as const;
const DEFAULT_DIMENSIONS = 384;
const MAX_DIMENSIONS = 4096;
/** Numbers in one answer, so that no request can exhaust the memory. */
const MAX_NUMBERS = 2048 * 1024;
/** Words beyond this are cut off, as an engine truncates an input. */
const MAX_WORDS = 8192;
/** Places of the vector that one word moves. */
const PLACES_PER_WORD = 16;
/** A part of every vector that comes from its whole text, so that none is the zero vector. */
const WHOLE_WEIGHT = 0.1;
const PRECISION = 1e7;

export function planEmbedding(body: Fields, context: PlanContext, { engine }: Exchange): Answer {
  const inputs = readEmbedded(body, engine.personality);
  checkBatch(inputs.length, engine.personality.bounds.inputs);
  const dimensions = readInteger(body, 'dimensions', { min: 1, max: MAX_DIMENSIONS }) ?? DEFAULT_DIMENSIONS;
  const encoding =
    readChoice(
      body,
      'encoding_format',
      engine.personality.embedsBytes ? [...JSON_ENCODINGS, 'bytes', 'bytes_only'] : JSON_ENCODINGS,
    ) ?? 'float';
  if (inputs.length * dimensions > MAX_NUMBERS)
    throw refuse(`inputs times dimensions must be at most ${MAX_NUMBERS}.`, 'input');
  const usage = sumUsage(
    inputs.reduce((sum, { tokens }) => sum + tokens, 0),
    0,
  );
  return {
    steps: 1,
    usage,
    inputs: { count: inputs.length, isBatch: isBatch(body.input) },
    buildBody: () => ({
      object: 'list',
      data: inputs.map(({ text }, index) => {
        const vector = embedText(text, dimensions);
        return {
          object: 'embedding',
          index,
          embedding: encoding === 'base64' ? encodeVector(vector) : vector,
        };
      }),
      model: context.model,
      usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens },
    }),
    ...((encoding === 'bytes' || encoding === 'bytes_only') && {
      bytes: writeBytes(
        inputs.map(({ text }) => embedText(text, dimensions)),
        encoding === 'bytes' && { model: context.model, usage },
      ),
    }),
    frames: null,
  };
}

/** A conversation is one input. */
function readEmbedded(body: Fields, { embedsMessages }: Personality): TextInput[] {
  if (!embedsMessages || body.messages === undefined) return readInputs(body, 'input');
  const { prompt, promptTokens } = readConversation(body);
  return [{ text: prompt, tokens: promptTokens }];
}

/** As vLLM: little-endian 32-bit floats one after the other; the header says where each begins. */
function writeBytes(
  vectors: number[][],
  described: false | { model: string; usage: Usage },
): NonNullable<Answer['bytes']> {
  const parts = vectors.map(writeVector);
  // All are equally long.
  const length = parts[0]!.length;
  const data = parts.map((_, index) => ({
    index,
    embed_dtype: 'float32',
    endianness: 'native',
    start: index * length,
    end: (index + 1) * length,
    shape: [length / 4],
  }));
  const content = Buffer.concat(parts);
  if (!described) return { content, headers: {} };
  const { model, usage } = described;
  const { prompt_tokens, total_tokens } = usage;
  const metadata = { id: makeAnswerId('embd'), created: readUnixSeconds(), model, data };
  return {
    content,
    headers: { metadata: JSON.stringify({ ...metadata, usage: { prompt_tokens, total_tokens } }) },
  };
}

/** A vector of length one that depends on the text alone. */
export function embedText(text: string, dimensions: number): number[] {
  const sums = new Float64Array(dimensions);
  addFeature(sums, text, WHOLE_WEIGHT);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words.slice(0, MAX_WORDS)) addFeature(sums, word, 1);
  const length = Math.hypot(...sums) || 1;
  return Array.from(sums, (sum) => Math.round((sum / length) * PRECISION) / PRECISION);
}

function addFeature(sums: Float64Array, feature: string, weight: number): void {
  const random = createRandom(hashText(feature));
  for (let place = 0; place < PLACES_PER_WORD; place++) {
    const at = Math.floor(random() * sums.length);
    sums[at]! += (random() - 0.5) * weight;
  }
}

const encodeVector = (vector: number[]): string => writeVector(vector).toString('base64');

function writeVector(vector: number[]): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}
