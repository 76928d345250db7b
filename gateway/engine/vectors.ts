/** An engine's vectors. After some faults engines return `null` for numbers, which would be zeros as bytes. */
import type { JSONObject } from '../../kit/json.ts';
import { nameInput, readResults, refuse } from './input-results.ts';

export interface VectorsRequest {
  encoding: 'float' | 'base64' | 'bytes' | 'bytes_only';
  /** The member of the request that has the inputs, and how many. */
  member: string;
  count: number;
  /** Format of the numbers in base64. */
  format: NumberFormat;
}

export interface NumberFormat {
  type: string;
  isBigEndian: boolean;
}

export const FLOATS: NumberFormat = { type: 'float32', isBigEndian: false };

/** As vLLM calls them; its own endianness is that of this processor. */
export const readFormat = (type: unknown, endianness: unknown): NumberFormat => ({
  type: String(type ?? FLOATS.type),
  isBigEndian: endianness === 'big',
});

/** A response that is not JSON. */
export const isBytes = (encoding: unknown): boolean => encoding === 'bytes' || encoding === 'bytes_only';

/** Each format with the bytes of a number, and the bits of its first two that are all set in infinities and NaN. */
const TYPES: Readonly<Record<string, { size: number; mask: number }>> = {
  float32: { size: 4, mask: 0x7f80 },
  float16: { size: 2, mask: 0x7c00 },
  bfloat16: { size: 2, mask: 0x7f80 },
  fp8_e4m3: { size: 1, mask: 0x7f00 },
  fp8_e5m2: { size: 1, mask: 0x7c00 },
};

/** Checks and converts them: engines may ignore `encoding_format`, or support only one. Returns whether it changed anything. Throws ApiError. */
export function completeVectors(
  answer: JSONObject,
  { encoding, member, count, format }: VectorsRequest,
): boolean {
  const items = Array.isArray(answer.data) ? answer.data : [];
  let isChanged = items.some((item, place) => item?.index !== place);
  const results = readResults(items, { what: 'embedding', member, count });
  const lengths = results.map(({ index, embedding }) => {
    const length =
      typeof embedding === 'string'
        ? measureBytes(Buffer.from(embedding, 'base64'), format)
        : measure(embedding);
    if (length === 0) throw refuseVector(member, index as number);
    return length;
  });
  checkLengths(lengths, member);
  for (const result of results) {
    const { embedding } = result;
    if (encoding === 'float' && typeof embedding === 'string') result.embedding = decode(embedding);
    else if (encoding === 'base64' && Array.isArray(embedding)) result.embedding = encode(embedding);
    else continue;
    isChanged = true;
  }
  if (isChanged) answer.data = results;
  return isChanged;
}

/** Vectors one after the other; `described`: where each is. Throws ApiError. */
export function checkVectors(bytes: Buffer, described: unknown, { member, count }: VectorsRequest): void {
  const items = readResults(Array.isArray(described) ? described : [], { what: 'embedding', member, count });
  const lengths = items.map(({ index, start, end, embed_dtype: type, endianness }) => {
    const format = readFormat(type, endianness);
    const length = isPart(start, end, bytes.length)
      ? measureBytes(bytes.subarray(start, end as number), format)
      : 0;
    if (length === 0) throw refuseVector(member, index as number);
    return length;
  });
  checkLengths(lengths, member);
}

const isPart = (start: unknown, end: unknown, length: number): start is number =>
  Number.isInteger(start) && Number.isInteger(end) && (start as number) >= 0 && (end as number) <= length;

function checkLengths(lengths: readonly number[], member: string): void {
  const odd = lengths.findIndex((length) => length !== lengths[0]);
  if (odd >= 0)
    throw refuse(
      `${lengths[odd]} numbers for ${nameInput(member, odd)}, and ${lengths[0]} for ${nameInput(member, 0)}`,
    );
}

const refuseVector = (member: string, index: number) =>
  refuse(`an embedding for ${nameInput(member, index)} that is not a list of finite numbers`);

/** How many numbers; 0 if anything is not a finite one. */
function measure(embedding: unknown): number {
  if (!Array.isArray(embedding)) return 0;
  for (const value of embedding)
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) return 0;
  return embedding.length;
}

function measureBytes(bytes: Buffer, { type, isBigEndian }: NumberFormat): number {
  const { size, mask } = TYPES[type] ?? TYPES.float32!;
  if (bytes.length % size > 0) return 0;
  const [first, step] = isBigEndian ? [0, 1] : [size - 1, -1];
  for (let at = first; at < bytes.length; at += size) {
    const next = size === 1 ? 0 : bytes[at + step]!;
    if ((((bytes[at]! << 8) | next) & mask) === mask) return 0;
  }
  return bytes.length / size;
}

/** 32-bit floats as OpenAI's SDKs read them: little-endian, as all processors that Berth runs on have them. */
const encode = (numbers: number[]): string =>
  Buffer.from(Float32Array.from(numbers).buffer).toString('base64');

function decode(text: string): number[] {
  const { buffer, byteOffset, length } = Buffer.from(Buffer.from(text, 'base64'));
  return Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + length)));
}
