/** Audio that is made and measured without a library: WAV and PCM with a tone for each word, MP3 that is silent. */

export const SAMPLE_RATE = 24_000;
const BYTES_PER_SAMPLE = 2;
const BYTES_PER_SECOND = SAMPLE_RATE * BYTES_PER_SAMPLE;
const WAV_HEADER_BYTES = 44;
const VOLUME = 0.2 * 32_767;

/** 16-bit mono samples: words are tones of one another's height, with pauses between them. */
export function makeSamples(words: readonly string[], secondsPerWord: number): Buffer {
  const perWord = Math.round(SAMPLE_RATE * secondsPerWord);
  const samples = Buffer.alloc(words.length * perWord * BYTES_PER_SAMPLE);
  for (const [index, word] of words.entries()) {
    const step = (2 * Math.PI * (200 + ((word.length * 37) % 400))) / SAMPLE_RATE;
    for (let sample = 0; sample < perWord * 0.8; sample++)
      samples.writeInt16LE(
        Math.round(Math.sin(sample * step) * VOLUME),
        (index * perWord + sample) * BYTES_PER_SAMPLE,
      );
  }
  return samples;
}

export function wrapWAV(samples: Buffer): Buffer {
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + samples.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(BYTES_PER_SECOND, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** MPEG-2 layer III, 64 kbit/s, 24 kHz, mono: a frame whose side information is zero is silent. */
const MP3_HEADER = Buffer.from([0xff, 0xf3, 0x84, 0xc4]);
const MP3_FRAME_BYTES = 192;
const MP3_FRAME_SECONDS = 576 / SAMPLE_RATE;

export function makeSilentMP3(seconds: number): Buffer {
  const frame = Buffer.alloc(MP3_FRAME_BYTES);
  MP3_HEADER.copy(frame);
  return Buffer.concat(Array.from({ length: Math.ceil(seconds / MP3_FRAME_SECONDS) }, () => frame));
}

export const countSeconds = (samples: Buffer): number => samples.length / BYTES_PER_SECOND;

/** Bytes of a second, where nothing says more. */
const TYPICAL_BYTES_PER_SECOND = 16_000;
const SOUNDS = /^(RIFF.{4}WAVE|fLaC|OggS|ID3|\xff[\xe2-\xff]|.{4}ftyp|\x1aE\xdf\xa3)/s;

/** Seconds; null for what is no audio. */
export function measureSound(bytes: Buffer): number | null {
  if (!SOUNDS.test(bytes.toString('latin1', 0, 16))) return null;
  if (bytes.toString('latin1', 0, 4) !== 'RIFF') return bytes.length / TYPICAL_BYTES_PER_SECOND;
  if (bytes.length < WAV_HEADER_BYTES) return null;
  return (bytes.length - WAV_HEADER_BYTES) / Math.max(1, bytes.readUInt32LE(28));
}
