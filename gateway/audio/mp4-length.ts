/** Duration of an MP4's audio, from its samples, whose length follows from the codec; declared durations count if longer. */
import { type AudioFile, mostSeconds } from './audio-file.ts';
import { type MP4Sound, readSoundDescription } from './mp4-sound.ts';

const HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Container boxes. */
const CONTAINERS: ReadonlySet<string> = new Set([
  ...['moov', 'trak', 'mdia', 'minf', 'stbl', 'moof', 'traf', 'mvex'],
]);
/** How much of a box is read. */
const MAX_CONTENT_BYTES = 4_096;
/** Recordings have one; films some more. */
const MAX_TRACKS = 64;
/** A recording has 8 per second: 17 hours. */
const MAX_BOXES = 500_000;

interface Track {
  id: number;
  isSound: boolean;
  /** As the file claims. */
  seconds: number;
  samples: number;
  sound: MP4Sound | null;
}

interface Box {
  type: string;
  /** Size of the whole; up to the end of the file if not given. */
  bytes: number;
  headerBytes: number;
}

/** Seconds of the longest audio track; null if there is none, or one has an unknown codec. */
export async function measureMP4(file: AudioFile): Promise<number | null> {
  const tracks = await listTracks(file);
  if (!tracks) return mostSeconds(file.bytes);
  const sounds = tracks.filter(({ isSound }) => isSound).map(measureTrack);
  return sounds.length === 0 || sounds.includes(null) ? null : Math.max(...(sounds as number[]));
}

const measureTrack = ({ seconds, samples, sound }: Track): number | null =>
  sound && Math.max(seconds, samples * sound.secondsOfSample);

/** Null if there are too many, or too much else. */
async function listTracks(file: AudioFile): Promise<Track[] | null> {
  const tracks: Track[] = [];
  let current: Track | undefined;
  for (let at = 0, count = 0; at < file.bytes; count++) {
    const wanted = LONG_HEADER_BYTES + MAX_CONTENT_BYTES;
    const piece = file.peek(at, wanted) ?? (await file.read(at, wanted));
    if (count >= MAX_BOXES) return null;
    const box = readBox(piece, file.bytes - at);
    if (!box) break;
    if (box.type === 'trak') {
      if (tracks.length >= MAX_TRACKS) return null;
      current = { id: 0, isSound: false, seconds: 0, samples: 0, sound: null };
      tracks.push(current);
    }
    const content = piece.subarray(box.headerBytes, Math.min(box.bytes, piece.length));
    if (box.type === 'tfhd' && content.length >= 8) {
      const id = content.readUInt32BE(4);
      current = tracks.find((track) => track.id === id);
    } else if (current) readInto(current, box.type, content);
    at += CONTAINERS.has(box.type) ? box.headerBytes : box.bytes;
  }
  return tracks;
}

function readBox(piece: Buffer, rest: number): Box | null {
  if (piece.length < HEADER_BYTES) return null;
  const type = piece.toString('latin1', 4, 8);
  const bytes = piece.readUInt32BE(0);
  if (bytes === 0) return { type, bytes: rest, headerBytes: HEADER_BYTES };
  if (bytes !== 1) return bytes < HEADER_BYTES ? null : { type, bytes, headerBytes: HEADER_BYTES };
  if (piece.length < LONG_HEADER_BYTES) return null;
  const long = Number(piece.readBigUInt64BE(HEADER_BYTES));
  return long < LONG_HEADER_BYTES ? null : { type, bytes: long, headerBytes: LONG_HEADER_BYTES };
}

function readInto(track: Track, type: string, content: Buffer): void {
  const isLong = content[0] === 1;
  if (type === 'tkhd' && content.length >= 24) track.id = content.readUInt32BE(isLong ? 20 : 12);
  else if (type === 'mdhd' && content.length >= (isLong ? 32 : 20))
    track.seconds = readDuration(content, isLong);
  else if (type === 'hdlr' && content.length >= 12)
    track.isSound ||= content.toString('latin1', 8, 12) === 'soun';
  else if (type === 'stsd') track.sound ??= readSoundDescription(content);
  else if ((type === 'stsz' || type === 'stz2') && content.length >= 12)
    track.samples += content.readUInt32BE(8);
  else if (type === 'trun' && content.length >= 8) track.samples += content.readUInt32BE(4);
}

function readDuration(content: Buffer, isLong: boolean): number {
  const unitsPerSecond = content.readUInt32BE(isLong ? 20 : 12);
  const units = isLong ? Number(content.readBigUInt64BE(24)) : content.readUInt32BE(16);
  const isUnknown = units === 0xffff_ffff || units > Number.MAX_SAFE_INTEGER;
  return unitsPerSecond === 0 || isUnknown ? 0 : units / unitsPerSecond;
}
