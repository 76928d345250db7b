/** Duration of an Opus packet, from its first bytes, as in decoders (RFC 6716, section 3.1). */

const SILK_MS = [10, 20, 40, 60];
const HYBRID_MS = [10, 20];
const CELT_MS = [2.5, 5, 10, 20];
const MAX_PACKET_MS = 120;
const FIRST_HYBRID = 12;
const FIRST_CELT = 16;

export const MAX_OPUS_SECONDS = MAX_PACKET_MS / 1000;

/** 0 for what no decoder plays, such as the headers of a stream. */
export function measureOpus(packet: Buffer): number {
  const [first, second = 0] = packet;
  if (first === undefined) return 0;
  const code = first & 3;
  const frames = code === 3 ? second & 0x3f : Math.min(code + 1, 2);
  const ms = frames * frameMs(first >> 3);
  return ms > MAX_PACKET_MS ? 0 : ms / 1000;
}

function frameMs(configuration: number): number {
  if (configuration < FIRST_HYBRID) return SILK_MS[configuration & 3]!;
  return configuration < FIRST_CELT ? HYBRID_MS[configuration & 1]! : CELT_MS[configuration & 3]!;
}
