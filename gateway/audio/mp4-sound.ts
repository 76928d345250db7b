/** The sample format of an MP4's audio, from the box `stsd`. */
import { AAC_SAMPLE_RATES, AAC_SAMPLES } from './frame-length.ts';

export interface MP4Sound {
  secondsOfSample: number;
}

/** Offsets in the box, and in the description in it. */
const DESCRIPTION_AT = 8;
const VERSION_AT = 16;
const RATE_AT = 32;
const BOXES_AT = [36, 52, 72];
/** Most writers' choice. An Opus packet may be shorter, or up to six times as long: then the stated duration counts. */
const OPUS_SECONDS = 0.02;
const AAC_KINDS: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);

/** Null for an unknown codec. */
export function readSoundDescription(content: Buffer): MP4Sound | null {
  const entry = content.subarray(DESCRIPTION_AT);
  if (entry.length < BOXES_AT[0]!) return null;
  const boxes = entry.subarray(BOXES_AT[entry.readUInt16BE(VERSION_AT)] ?? BOXES_AT[0]!);
  switch (entry.toString('latin1', 4, 8)) {
    case 'Opus':
      return { secondsOfSample: OPUS_SECONDS };
    case 'alac':
      return readALAC(findBox(boxes, 'alac'));
    case 'mp4a':
      return readAAC(findBox(findBox(boxes, 'wave') ?? boxes, 'esds'), entry.readUInt16BE(RATE_AT));
    default:
      return null;
  }
}

function findBox(boxes: Buffer, type: string): Buffer | null {
  for (let at = 0; at + 8 <= boxes.length; ) {
    const bytes = boxes.readUInt32BE(at);
    if (boxes.toString('latin1', at + 4, at + 8) === type) return boxes.subarray(at + 8, at + bytes);
    if (bytes < 8) return null;
    at += bytes;
  }
  return null;
}

function readALAC(content: Buffer | null): MP4Sound | null {
  if (!content || content.length < 28) return null;
  const rate = content.readUInt32BE(24);
  return rate === 0 ? null : { secondsOfSample: content.readUInt32BE(4) / rate };
}

/** Decoders use the codec's own configuration, which has the sample rate before SBR. */
function readAAC(content: Buffer | null, entryRate: number): MP4Sound | null {
  const configuration = content && findConfiguration(content.subarray(4));
  if (!configuration || configuration.length < 2) return null;
  // 5 bits for the object type, 6 more if it is 31; then 4 for the rate, or, if 15, 24 more.
  const bits = configuration.subarray(0, 8).reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  const length = Math.min(configuration.length, 8) * 8;
  const read = (at: number, count: number) =>
    at + count > length ? 0 : Number((bits >> BigInt(length - at - count)) & ((1n << BigInt(count)) - 1n));
  const at = read(0, 5) === 31 ? 11 : 5;
  const index = read(at, 4);
  const rate = index === 15 ? read(at + 4, 24) : (AAC_SAMPLE_RATES[index] ?? entryRate);
  return rate === 0 ? null : { secondsOfSample: AAC_SAMPLES / rate };
}

/** Nested descriptors, each with a tag and a length of up to four bytes; null if it is not AAC. */
function findConfiguration(content: Buffer): Buffer | null {
  let at = 0;
  while (at + 2 <= content.length) {
    const tag = content[at++]!;
    let bytes = 0;
    for (let more = true, count = 0; more && count < 4; count++) {
      const byte = content[at++] ?? 0;
      bytes = (bytes << 7) | (byte & 0x7f);
      more = byte >= 0x80;
    }
    if (tag === 5) return content.subarray(at, at + bytes);
    if (tag === 3) at += 3 + ((content[at + 2] ?? 0) >= 0x80 ? 2 : 0);
    else if (tag === 4) {
      if (!AAC_KINDS.has(content[at] ?? 0)) return null;
      at += 13;
    } else at += bytes;
  }
  return null;
}
