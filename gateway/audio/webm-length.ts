/** Duration of a WebM's audio, from its Opus packets, or from the timestamps of others. */
import { type AudioFile, guessSeconds, mostSeconds } from './audio-file.ts';
import { MAX_OPUS_SECONDS, measureOpus } from './opus-length.ts';

const ID = {
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  track: 0xae,
  number: 0xd7,
  type: 0x83,
  codec: 0x86,
  info: 0x1549a966,
  scale: 0x2ad7b1,
  cluster: 0x1f43b675,
  time: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;
/** Container elements, with or without a stated size. */
const CONTAINERS: ReadonlySet<number> = new Set([
  ...[ID.segment, ID.tracks, ID.track, ID.info, ID.cluster, ID.group],
]);
/** How much of an element, including its header, is read. */
const MAX_READ_BYTES = 64;
const AUDIO = 2;
const OPUS = 'A_OPUS';
const LACING_BITS = 0x06;
const NANOSECONDS = 1e9;
const USUAL_SCALE = 1_000_000;
const MAX_TRACKS = 64;
/** A block is 20 ms long: 11 hours. */
const MAX_ELEMENTS = 2_000_000;

interface Track {
  number: number;
  isSound: boolean;
  codec: string;
}

interface Walk {
  tracks: Track[];
  scale: number;
  clusterTime: number;
  /** Length of all packets of known duration. */
  seconds: number;
  /** The latest timestamp of a packet. */
  lastTime: number;
  /** Size of audio with unknown codecs. */
  otherBytes: number;
}

export async function measureWebM(file: AudioFile): Promise<number> {
  const walk: Walk = {
    ...{ tracks: [], scale: USUAL_SCALE, clusterTime: 0, seconds: 0, lastTime: 0, otherBytes: 0 },
  };
  let at = 0;
  for (let count = 0; at < file.bytes && count < MAX_ELEMENTS; count++) {
    const piece = file.peek(at, MAX_READ_BYTES) ?? (await file.read(at, MAX_READ_BYTES));
    const id = readNumber(piece, 0, true);
    const size = id && readNumber(piece, id.length, false);
    if (!size) break;
    const headerBytes = id.length + size.length;
    readElement(walk, id.value, piece.subarray(headerBytes, headerBytes + size.value), size.value);
    at += headerBytes + (CONTAINERS.has(id.value) ? 0 : size.value);
  }
  // Their timestamps are trusted unless the size implies more.
  const seconds = Math.max(walk.lastTime, walk.seconds + guessSeconds(walk.otherBytes));
  return seconds + mostSeconds(Math.max(0, file.bytes - at));
}

/** One more byte than the first one has leading zeros; ids keep the length marker. Null if invalid. */
function readNumber(piece: Buffer, at: number, isId: boolean): { value: number; length: number } | null {
  const first = piece[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (length > (isId ? 4 : 8) || at + length > piece.length) return null;
  let value = isId ? first : first & (0xff >> length);
  for (let next = 1; next < length; next++) value = value * 256 + piece[at + next]!;
  return { value, length };
}

function readElement(walk: Walk, id: number, content: Buffer, bytes: number): void {
  const number = () => content.subarray(0, 8).reduce((all, byte) => all * 256 + byte, 0);
  const track = walk.tracks.at(-1);
  switch (id) {
    case ID.track:
      // For more, none is known, and their bytes are counted.
      if (walk.tracks.length < MAX_TRACKS) walk.tracks.push({ number: 0, isSound: true, codec: '' });
      break;
    case ID.number:
      if (track) track.number = number();
      break;
    case ID.type:
      if (track) track.isSound = number() === AUDIO;
      break;
    case ID.codec:
      if (track) track.codec = content.toString('latin1');
      break;
    case ID.scale:
      walk.scale = number();
      break;
    case ID.time:
      walk.clusterTime = number();
      break;
    case ID.block:
    case ID.simpleBlock:
      readBlock(walk, content, bytes);
  }
}

function readBlock(walk: Walk, content: Buffer, bytes: number): void {
  const number = readNumber(content, 0, false);
  if (!number || content.length < number.length + 4) return;
  const track = walk.tracks.find((each) => each.number === number.value);
  if (track && !track.isSound) return;
  const time = ((walk.clusterTime + content.readInt16BE(number.length)) * walk.scale) / NANOSECONDS;
  walk.lastTime = Math.max(walk.lastTime, time);
  if (track?.codec === OPUS) walk.seconds += measurePackets(content.subarray(number.length + 2));
  else walk.otherBytes += bytes;
}

/** Opus writers put one packet into a block: several in one count with their maximum duration. */
const measurePackets = (content: Buffer): number =>
  (content[0]! & LACING_BITS) === 0
    ? measureOpus(content.subarray(1))
    : ((content[1] ?? 0) + 1) * MAX_OPUS_SECONDS;
