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
  /** Its header alone tells 10 s at 16 kHz. */
  const makeFLAC = () => {
    const bytes = Buffer.alloc(40_000);
    bytes.write('fLaC', 'latin1');
    bytes.writeUIntBE((16_000 << 4) | 0, 18, 3);
    bytes.writeUInt32BE(160_000, 22);
    return bytes;
  };

  it('is that of the header of a WAV, a FLAC and an MP3', async () => {
    const wav = await measure(wrapWAV(makeSamples(['a', 'b'], 1)));
    expect(wav!.contentType).to.equal('audio/wav');
    expect(wav!.seconds).to.be.closeTo(2, 0.01);
    expect((await measure(makeFLAC()))!.seconds).to.be.closeTo(10, 0.01);
    expect((await measure(makeSilentMP3(3)))!.seconds).to.be.closeTo(3, 0.1);
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x05hello', 'latin1'), makeSilentMP3(3)]);
    expect((await measure(tag))!.seconds).to.be.closeTo(3, 0.1);
  });

  it('is estimated by the size of others', async () => {
    const ogg = Buffer.alloc(80_000);
    ogg.write('OggS', 'latin1');
    expect(await measure(ogg)).to.deep.equal({ contentType: 'audio/ogg', seconds: 10 });
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
