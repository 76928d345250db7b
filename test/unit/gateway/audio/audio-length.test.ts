import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { measureSound } from '../../../../gateway/audio/audio-length.ts';
import { makeSamples, makeSilentMP3, wrapWAV } from '../../../../simulator/sounds.ts';

describe('the length of a sound', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sounds-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const measure = (bytes: Buffer) => {
    const path = join(folder, 'sound');
    writeFileSync(path, bytes);
    return measureSound(path, bytes.length);
  };
  it('is that of the header of a WAV and of the frames of an MP3', async () => {
    const wav = await measure(wrapWAV(makeSamples(['a', 'b'], 1)));
    expect(wav!.contentType).to.equal('audio/wav');
    expect(wav!.seconds).to.be.closeTo(2, 0.01);
    expect((await measure(makeSilentMP3(3)))!.seconds).to.be.closeTo(3, 0.1);
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x05hello', 'latin1'), makeSilentMP3(3)]);
    expect((await measure(tag))!.seconds).to.be.closeTo(3, 0.1);
  });

  /** MPEG-2 layer III at 24 kHz, 8 kbit/s by the index 1 and 160 by 14: 0.024 s each. */
  const makeFrames = (index: number, count: number) => {
    const frame = Buffer.alloc([0, 24, 48][index] ?? 480);
    frame.set([0xff, 0xf3, (index << 4) | 0x04, 0xc4]);
    return Buffer.concat(Array.from({ length: count }, () => frame));
  };

  it('is that of all frames of an MP3, whatever the bit rate of the first ones', async () => {
    const slow = makeFrames(1, 25_000);
    expect((await measure(slow))!.seconds).to.be.closeTo(600, 0.1);
    expect((await measure(Buffer.concat([makeFrames(14, 1), slow])))!.seconds).to.be.closeTo(600, 0.1);
    const decoys = makeFrames(14, 200);
    expect((await measure(Buffer.concat([decoys, slow])))!.seconds).to.be.closeTo(604.8, 0.1);
    const mixed = Buffer.concat([slow, decoys, slow, decoys]);
    expect((await measure(mixed))!.seconds).to.be.closeTo(1_209.6, 0.1);
  });

  it('of an MP3 does not depend on headers that no frame follows, nor on a tag that is longer than the file', async () => {
    const slow = makeFrames(1, 25_000);
    // Has another sample rate, and is 1,440 bytes long by itself.
    const decoy = Buffer.from([0xff, 0xfb, 0xe8, 0xc4]);
    const pieces = Array.from({ length: 250 }, () => [decoy, makeFrames(1, 100)]).flat();
    expect((await measure(Buffer.concat(pieces)))!.seconds).to.be.closeTo(600, 1);
    const tag = Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1');
    expect((await measure(Buffer.concat([tag, slow])))!.seconds).to.be.closeTo(600, 0.1);
    const cover = Buffer.concat([Buffer.from('ID3\x04\0\0\0\x40\0\0', 'latin1'), Buffer.alloc(1024 ** 2)]);
    expect((await measure(Buffer.concat([cover, slow])))!.seconds).to.be.closeTo(600, 0.1);
  });

  it('of an MP3 does not end with the header of a tag that decoders take for none', async () => {
    const slow = makeFrames(1, 25_000);
    for (const header of ['\xff\0\0\0\x09\x13\x44', '\x04\xff\0\0\x09\x13\x44', '\x04\0\0\x80\x09\x13\x44']) {
      const tag = Buffer.from(`ID3${header}`, 'latin1');
      expect((await measure(Buffer.concat([tag, slow, makeFrames(14, 1)])))!.seconds).to.be.closeTo(600, 0.1);
    }
  });

  it('of an MP3 whose frames are of no kind that is known is estimated by its size', async () => {
    const free = Buffer.alloc(80_000, Buffer.from([0xff, 0xf3, 0x04, 0xc4, 0, 0, 0, 0]));
    expect((await measure(free))!.seconds).to.be.closeTo(10, 0.1);
  });

  it('is estimated by the size of others', async () => {
    for (const [start, contentType] of [
      ['OggS', 'audio/ogg'],
      ['fLaC', 'audio/flac'],
      ['\0\0\0\x08ftyp', 'audio/mp4'],
    ] as const) {
      const file = Buffer.alloc(80_000);
      file.write(start, 'latin1');
      const sound = await measure(file);
      expect(sound!.contentType).to.equal(contentType);
      expect(sound!.seconds).to.be.closeTo(10, 0.1);
    }
  });

  it('is not infinite for a header that says nothing of use', async () => {
    const wav = wrapWAV(makeSamples(['a'], 1));
    for (const rate of [0, 1]) {
      wav.writeUInt32LE(rate, 28);
      expect((await measure(wav))!.seconds).to.be.within(1, 100);
    }
    for (const start of ['fLaC', 'ID3', 'RIFFxxxxWAVE'])
      expect((await measure(Buffer.from(start, 'latin1')))!.seconds).to.be.lessThan(1);
  });

  it('is that of the samples of a WAV, whatever rate its header tells', async () => {
    const wav = wrapWAV(makeSamples(['a', 'b'], 1));
    wav.writeUInt32LE(0xff_ff_ff_ff, 28);
    expect((await measure(wav))!.seconds).to.be.closeTo(2, 0.01);
    const decoy = Buffer.alloc(8 + 24);
    decoy.write('LIST', 'latin1');
    decoy.writeUInt32LE(24, 4);
    decoy.write('fmt ', 8, 'latin1');
    decoy.fill(0xff, 16);
    const behind = Buffer.concat([wav.subarray(0, 12), decoy, wav.subarray(12)]);
    expect((await measure(behind))!.seconds).to.be.closeTo(2, 0.01);
  });

  it('is by at most a byte a sample of a WAV that is compressed', async () => {
    const wav = wrapWAV(makeSamples(['a', 'b'], 1));
    wav.writeUInt16LE(0x11, 20);
    const samplesPerSecond = wav.readUInt32LE(24);
    wav.writeUInt32LE(samplesPerSecond / 2, 28);
    expect((await measure(wav))!.seconds).to.be.closeTo(8, 0.1);
    wav.writeUInt32LE(0xff_ff_ff_ff, 28);
    expect((await measure(wav))!.seconds).to.be.closeTo(4, 0.1);
  });

  it('is none of what is no sound', async () => {
    expect(await measure(Buffer.from('<html>'))).to.equal(null);
    expect(await measure(Buffer.alloc(0))).to.equal(null);
  });
});
