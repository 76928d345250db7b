/** Duration of Ogg, from its packets: the positions that its pages state may be false. */
import { type AudioFile, guessSeconds, mostSeconds } from './audio-file.ts';
import { measureFLACFrame } from './flac-length.ts';
import { checkPage } from './ogg-checksum.ts';
import { measureOpus } from './opus-length.ts';

const PAGE_HEADER_BYTES = 27;
const MAX_PAGE_BYTES = PAGE_HEADER_BYTES + 255 + 255 * 255;
const SIGNATURE = 'OggS';
const CONTINUED = 1;
const FIRST = 2;
/** Files have one, or several in sequence. */
const MAX_STREAMS = 64;
/** Apparent pages are read twice; this many false ones are only sent on purpose. */
const MAX_BAD_PAGES = 64;

interface Page {
  isContinued: boolean;
  isFirst: boolean;
  position: bigint;
  stream: number;
  /** First bytes of the packets that start in it. */
  packets: Buffer[];
  bytes: number;
}

/** Seconds of a page. */
type Meter = (page: Page) => number;

export async function measureOgg(file: AudioFile): Promise<number> {
  let seconds = 0;
  const meters = new Map<number, Meter | null>();
  let badPages = 0;
  for (let at = 0; at < file.bytes; ) {
    const piece = file.peek(at, MAX_PAGE_BYTES) ?? (await file.read(at, MAX_PAGE_BYTES));
    if (piece.length === 0) break;
    const page = readPage(piece);
    if (page) {
      seconds += measurePage(page, meters);
      at += page.bytes;
      continue;
    }
    if (piece.toString('latin1', 0, 4) === SIGNATURE && ++badPages > MAX_BAD_PAGES)
      return seconds + mostSeconds(file.bytes - at);
    const next = piece.indexOf(SIGNATURE, 1, 'latin1');
    const skipped = next > 0 ? next : Math.max(1, piece.length - SIGNATURE.length);
    seconds += guessSeconds(skipped);
    at += skipped;
  }
  return seconds;
}

function readPage(piece: Buffer): Page | null {
  if (piece.length < PAGE_HEADER_BYTES || piece.toString('latin1', 0, 4) !== SIGNATURE) return null;
  const segments = piece.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + piece[26]!);
  let at = PAGE_HEADER_BYTES + piece[26]!;
  const packets: Buffer[] = [];
  let begin = at;
  let isOpen = false;
  for (const segment of segments) {
    if (!isOpen) begin = at;
    at += segment;
    isOpen = segment === 255;
    if (!isOpen) packets.push(piece.subarray(begin, at));
  }
  if (isOpen) packets.push(piece.subarray(begin, at));
  const flags = piece[5]!;
  const isContinued = (flags & CONTINUED) !== 0;
  if (isContinued) packets.shift();
  if (at > piece.length || !checkPage(piece.subarray(0, at))) return null;
  return {
    isContinued,
    isFirst: (flags & FIRST) !== 0,
    position: piece.readBigInt64LE(6),
    stream: piece.readUInt32LE(14),
    packets,
    bytes: at,
  };
}

function measurePage(page: Page, meters: Map<number, Meter | null>): number {
  if (page.isFirst || !meters.has(page.stream)) {
    meters.delete(page.stream);
    if (meters.size >= MAX_STREAMS) meters.delete(meters.keys().next().value!);
    meters.set(page.stream, chooseMeter(page.packets[0]));
  }
  const meter = meters.get(page.stream);
  return meter ? meter(page) : guessSeconds(page.bytes);
}

/** By the first packet of a stream; null: unknown codec. */
function chooseMeter(packet: Buffer = Buffer.alloc(0)): Meter | null {
  if (packet.toString('latin1', 0, 8) === 'OpusHead') return ({ packets }) => sum(packets, measureOpus);
  if (packet.toString('latin1', 0, 5) === '\x7fFLAC')
    return ({ packets }) => sum(packets, (each) => measureFLACFrame(each.subarray(0, 16)));
  if (packet.length >= 29 && packet.toString('latin1', 0, 7) === '\x01vorbis') return vorbisMeter(packet);
  return null;
}

const sum = (packets: readonly Buffer[], measure: (packet: Buffer) => number): number =>
  packets.reduce((seconds, packet) => seconds + measure(packet), 0);

/**
 * A packet is a short or a long block, which only its codebooks show: a page's position is trusted between what its packets
 * can be at most and a quarter of that, which holds for audio that does not consist of short blocks only.
 */
function vorbisMeter(identification: Buffer): Meter {
  const rate = identification.readUInt32LE(12);
  const longest = (1 << (identification[28]! >> 4)) / 2;
  let last: bigint | null = null;
  return ({ packets, position }) => {
    const blocks = packets.filter((packet) => packet.length > 0 && (packet[0]! & 1) === 0).length;
    const most = blocks * longest;
    const reported = last === null || position < 0n ? most : Number(position - last);
    if (position >= 0n) last = position;
    return rate === 0 ? 0 : Math.min(most, Math.max(most / 4, reported)) / rate;
  };
}
