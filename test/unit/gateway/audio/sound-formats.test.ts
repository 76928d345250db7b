/** Sounds as programs write them, and forged ones that claim to be shorter than they are. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ffmpeg from '@ffmpeg-installer/ffmpeg';
import { expect } from 'chai';
import { measureSound } from '../../../../gateway/audio/audio-length.ts';
import { checkPage } from '../../../../gateway/audio/ogg-checksum.ts';
import { seedRandom } from '../../../support/random-seeds.ts';

const SECONDS = 7.5;
const DAY = 86_400;
/** Codecs pad the start and the last frame. */
const FRAME = 0.1;
const FILES: Record<string, string[]> = {
  'opus.ogg': ['-c:a', 'libopus', '-b:a', '24k'],
  'vorbis.ogg': ['-c:a', 'libvorbis', '-ar', '16000', '-q:a', '0'],
  'flac.ogg': ['-c:a', 'flac', '-f', 'ogg'],
  'aac.m4a': ['-c:a', 'aac', '-b:a', '24k'],
  'alac.m4a': ['-c:a', 'alac'],
  'opus.mp4': ['-c:a', 'libopus', '-strict', '-2'],
  'long-packets.mp4': ['-c:a', 'libopus', '-frame_duration', '120', '-strict', '-2'],
  'fragments.mp4': ['-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov', '-frag_duration', '1000000'],
  'opus.webm': ['-c:a', 'libopus', '-b:a', '16k'],
  'recording.webm': ['-c:a', 'libopus', '-b:a', '16k', '-live', '1'],
  'vorbis.webm': ['-c:a', 'libvorbis', '-ar', '16000', '-q:a', '0'],
  'sound.flac': ['-c:a', 'flac'],
  'sound.aac': ['-c:a', 'aac', '-f', 'adts', '-b:a', '24k'],
};

describe('the length of a sound as programs write it', function () {
  this.timeout(120_000);
  let folder: string;
  const files = new Map<string, Buffer>();
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sounds-'));
    mkdirSync(join(folder, 'sent'));
    await Promise.all(Object.entries(FILES).map(([name, args]) => make(name, 'sine=frequency=440', args)));
    await make('silence.flac', 'anullsrc=r=16000', ['-c:a', 'flac']);
    await make('film.mp4', 'sine', [
      '-f',
      'lavfi',
      '-i',
      `color=s=64x64:r=5:d=2`,
      '-c:a',
      'aac',
      '-c:v',
      'libx264',
    ]);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function make(name: string, source: string, args: string[]): Promise<void> {
    const path = join(folder, name);
    const input = ['-loglevel', 'error', '-f', 'lavfi', '-t', String(SECONDS), '-i', source];
    await promisify(execFile)(ffmpeg.path, [...input, ...args, path]);
    files.set(name, readFileSync(path));
  }
  const read = (name: string): Buffer => Buffer.from(files.get(name)!);
  const measure = async (bytes: Buffer): Promise<number> => {
    const path = join(folder, 'sent', 'sound');
    writeFileSync(path, bytes);
    return (await measureSound(path, bytes.length))!.seconds;
  };

  for (const name of [...Object.keys(FILES), 'silence.flac', 'film.mp4'])
    it(`is what is played of ${name}`, async () => {
      expect(await measure(read(name))).to.be.closeTo(SECONDS, FRAME);
    });

  it('is that of all parts of an Ogg, one after the other', async () => {
    const both = Buffer.concat([read('opus.ogg'), read('vorbis.ogg')]);
    expect(await measure(both)).to.be.closeTo(2 * SECONDS, 2 * FRAME);
  });

  it('of Opus does not follow the positions that its pages tell', async () => {
    const forged = mapPages(read('opus.ogg'), (page) => sign(page.fill(0, 6, 14)));
    expect(await measure(forged)).to.be.closeTo(SECONDS, FRAME);
  });

  it('of Vorbis follows positions only as far as its packets can be so short or long', async () => {
    const early = mapPages(read('vorbis.ogg'), (page) => sign(page.fill(0, 6, 14)));
    expect(await measure(early)).to.be.within(SECONDS / 5, SECONDS);
    const late = mapPages(read('vorbis.ogg'), (page) => sign(page.fill(0x7f, 6, 14)));
    expect(await measure(late)).to.be.within(SECONDS / 5, SECONDS * 1.5);
  });

  it('counts pages in what only looks like a page', async () => {
    const cover = Buffer.alloc(27 + 255, 0xff);
    cover.write('OggS\0\0', 'latin1');
    const sound = read('opus.ogg');
    expect(await measure(Buffer.concat([sound, cover, sound]))).to.be.closeTo(2 * SECONDS, 2 * FRAME);
  });

  it('does not read an Ogg of nothing but such covers again and again, nor is it cheap', async () => {
    const cover = Buffer.from(`${'OggS\0\0'.padEnd(26, '\0')}\xff`, 'latin1');
    const covers = Buffer.concat(Array.from({ length: 40_000 }, () => cover));
    expect(await measure(covers)).to.be.greaterThan(2_000);
  });

  it('of an MP4 does not follow the durations that it tells', async () => {
    const forged = read('aac.m4a');
    for (const [box, at, bytes] of [
      ['mvhd', 20, 4],
      ['mdhd', 20, 4],
      ['tkhd', 24, 4],
    ] as const) {
      const content = forged.indexOf(box);
      expect(content, box).to.be.greaterThan(0);
      forged.fill(0, content + at, content + at + bytes);
    }
    forged.writeUInt32BE(1, forged.indexOf('stts') + 16);
    expect(await measure(forged)).to.be.closeTo(SECONDS, FRAME);
  });

  it('is a day at most', async () => {
    const forged = read('aac.m4a');
    forged.writeUInt32BE(0xffff_ffff, forged.indexOf('stsz') + 12);
    expect(await measure(forged)).to.equal(DAY);
  });

  it('of a FLAC does not follow what its first block tells of the whole, nor does noise count', async () => {
    const forged = read('sound.flac');
    forged.writeUInt32BE(1, 22);
    expect(await measure(forged)).to.be.closeTo(SECONDS, FRAME);
    const noise = Buffer.alloc(2 * 1024 ** 2);
    const choose = chooser(7);
    for (let at = 0; at < noise.length; at++) noise[at] = choose(256);
    expect(await measure(Buffer.concat([forged, noise]))).to.be.closeTo(SECONDS, 3);
  });

  it('is a number of any file that is cut off or changed', async () => {
    for (const name of Object.keys(FILES)) {
      const choose = chooser(name.length);
      for (let round = 0; round < 40; round++) {
        const bytes = read(name).subarray(0, 300 + choose(files.get(name)!.length - 300));
        for (let change = 0; change < 8; change++) bytes[16 + choose(280)] = choose(256);
        expect(await measure(bytes), `${name} round ${round}`).to.be.within(0, DAY);
      }
    }
  });
});

/** Random integers below a bound. */
function chooser(seed: number): (bound: number) => number {
  const random = seedRandom(seed);
  return (bound) => Math.floor(random() * bound);
}

function mapPages(file: Buffer, change: (page: Buffer) => Buffer): Buffer {
  const pages: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const header = 27 + file[at + 26]!;
    const bytes = file.subarray(at + 27, at + header).reduce((sum, each) => sum + each, header);
    pages.push(change(Buffer.from(file.subarray(at, at + bytes))));
    at += bytes;
  }
  return Buffer.concat(pages);
}

/** Corrects the checksum of an Ogg page. */
function sign(page: Buffer): Buffer {
  page.writeUInt32LE(checksum(page), 22);
  expect(checkPage(page)).to.equal(true);
  return page;
}

function checksum(page: Buffer): number {
  let sum = 0;
  for (const [at, byte] of page.entries()) {
    sum ^= (at >= 22 && at < 26 ? 0 : byte) << 24;
    for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum < 0 ? 0x04c11db7 : 0);
  }
  return sum >>> 0;
}
