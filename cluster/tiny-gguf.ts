/** Writes a model file of half a megabyte that llama.cpp loads and serves: a llama of random weights. */
import { writeFileSync } from 'node:fs';

const EMBEDDING = 64;
const LAYERS = 2;
const HEADS = 4;
const FEED_FORWARD = 128;
const CONTEXT = 2048;
const ALIGNMENT = 32;

/** The numbers of the file format. */
const VALUE_TYPE = { uint32: 4, int32: 5, float32: 6, boolean: 7, string: 8, array: 9 };
const TOKEN_TYPE = { normal: 1, unknown: 2, control: 3, byte: 6 };
const TENSOR_FLOAT32 = 0;

const CHAT_TEMPLATE = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:';

interface Tensor {
  name: string;
  dimensions: number[];
  data: Buffer;
}

/** Writes the model to `path`. The same bytes every time. */
export function writeTinyModel(path: string): void {
  writeFileSync(path, formatTinyModel());
}

export function formatTinyModel(): Buffer {
  const tokens = makeTokens();
  const tensors = makeTensors(tokens.length);
  const metadata = formatMetadata(tokens);
  let offset = 0;
  const descriptions = tensors.map(({ name, dimensions, data }) => {
    const description = [string(name), uint32(dimensions.length), ...dimensions.map(uint64)];
    const bytes = Buffer.concat([...description, uint32(TENSOR_FLOAT32), uint64(offset)]);
    offset += align(data.length);
    return bytes;
  });
  const start = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(metadata.length)];
  const head = Buffer.concat([...start, ...metadata, ...descriptions]);
  return Buffer.concat([head, ...tensors.map(({ data }) => data)].map(pad));
}

/** Every byte, so that any text can be read, and some words. */
function makeTokens(): { text: string; type: number }[] {
  const special = [
    { text: '<unk>', type: TOKEN_TYPE.unknown },
    { text: '<s>', type: TOKEN_TYPE.control },
    { text: '</s>', type: TOKEN_TYPE.control },
  ];
  const bytes = Array.from({ length: 256 }, (_, byte) => ({
    text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    type: TOKEN_TYPE.byte,
  }));
  const words = ['▁', '▁the', '▁hello', '▁world', '▁a', '▁is', '▁cat', 'ing', 'er', '.', ','];
  const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index));
  return [...special, ...bytes, ...[...words, ...letters].map((text) => ({ text, type: TOKEN_TYPE.normal }))];
}

function formatMetadata(tokens: { text: string; type: number }[]): Buffer[] {
  const entry = (key: string, type: number, value: Buffer) =>
    Buffer.concat([string(key), uint32(type), value]);
  const text = (key: string, value: string) => entry(key, VALUE_TYPE.string, string(value));
  const count = (key: string, value: number) => entry(key, VALUE_TYPE.uint32, uint32(value));
  const array = (key: string, type: number, values: Buffer[]) =>
    entry(key, VALUE_TYPE.array, Buffer.concat([uint32(type), uint64(values.length), ...values]));
  return [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny-random'),
    count('general.file_type', 0),
    count('llama.context_length', CONTEXT),
    count('llama.embedding_length', EMBEDDING),
    count('llama.block_count', LAYERS),
    count('llama.feed_forward_length', FEED_FORWARD),
    count('llama.attention.head_count', HEADS),
    count('llama.attention.head_count_kv', HEADS),
    entry('llama.attention.layer_norm_rms_epsilon', VALUE_TYPE.float32, float32(1e-5)),
    count('llama.rope.dimension_count', EMBEDDING / HEADS),
    count('llama.vocab_size', tokens.length),
    text('tokenizer.ggml.model', 'llama'),
    array(
      'tokenizer.ggml.tokens',
      VALUE_TYPE.string,
      tokens.map((token) => string(token.text)),
    ),
    array(
      'tokenizer.ggml.scores',
      VALUE_TYPE.float32,
      tokens.map((_, index) => float32(-index / 100)),
    ),
    array(
      'tokenizer.ggml.token_type',
      VALUE_TYPE.int32,
      tokens.map((token) => uint32(token.type)),
    ),
    count('tokenizer.ggml.bos_token_id', 1),
    count('tokenizer.ggml.eos_token_id', 2),
    count('tokenizer.ggml.unknown_token_id', 0),
    entry('tokenizer.ggml.add_bos_token', VALUE_TYPE.boolean, Buffer.from([1])),
    text('tokenizer.chat_template', CHAT_TEMPLATE),
  ];
}

function makeTensors(vocabulary: number): Tensor[] {
  const random = makeRandom();
  const weights = (name: string, dimensions: number[], value = () => random() * 0.3): Tensor => {
    const size = dimensions.reduce((product, dimension) => product * dimension, 1);
    return { name, dimensions, data: Buffer.from(Float32Array.from({ length: size }, value).buffer) };
  };
  const ones = (name: string) => weights(name, [EMBEDDING], () => 1);
  const layer = (index: number) => [
    ones(`blk.${index}.attn_norm.weight`),
    ones(`blk.${index}.ffn_norm.weight`),
    ...['q', 'k', 'v', 'output'].map((part) =>
      weights(`blk.${index}.attn_${part}.weight`, [EMBEDDING, EMBEDDING]),
    ),
    weights(`blk.${index}.ffn_gate.weight`, [EMBEDDING, FEED_FORWARD]),
    weights(`blk.${index}.ffn_up.weight`, [EMBEDDING, FEED_FORWARD]),
    weights(`blk.${index}.ffn_down.weight`, [FEED_FORWARD, EMBEDDING]),
  ];
  return [
    weights('token_embd.weight', [EMBEDDING, vocabulary]),
    ones('output_norm.weight'),
    makeOutput(vocabulary, random),
    ...Array.from({ length: LAYERS }, (_, index) => layer(index)).flat(),
  ];
}

/** Bytes and control tokens have no weight, so that the output is printable and does not end. */
function makeOutput(vocabulary: number, random: () => number): Tensor {
  const values = Float32Array.from({ length: EMBEDDING * vocabulary }, (_, index) =>
    Math.floor(index / EMBEDDING) < 259 ? 0 : random() * 0.6,
  );
  return { name: 'output.weight', dimensions: [EMBEDDING, vocabulary], data: Buffer.from(values.buffer) };
}

/** Numbers from -0.5 to 0.5, the same in every run. */
function makeRandom(): () => number {
  let state = 1;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

const align = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const pad = (bytes: Buffer): Buffer => Buffer.concat([bytes], align(bytes.length));

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint64(bytes.length), bytes]);
}
