import { expect } from 'chai';
import { type MediaKind, sniffMediaType } from '../../../../gateway/egress/media-type.ts';

describe('the type of a file', () => {
  const cases: [string, Buffer, string | null][] = [
    ['PNG', Buffer.from('89504e470d0a1a0a0000', 'hex'), 'image/png'],
    ['JPEG', Buffer.from('ffd8ffe000104a46', 'hex'), 'image/jpeg'],
    ['GIF87a', Buffer.from('GIF87a...'), 'image/gif'],
    ['GIF89a', Buffer.from('GIF89a...'), 'image/gif'],
    ['WebP', Buffer.from('RIFF\n\r\x00\x00WEBPVP8 '), 'image/webp'],
    ['another RIFF', Buffer.from('RIFF\x10\x00\x00\x00WAVEfmt '), null],
    ['SVG, which may hold scripts', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), null],
    ['HTML', Buffer.from('<!doctype html>'), null],
    ['half a PNG signature', Buffer.from('89504e47', 'hex'), null],
    ['a PNG that does not begin so', Buffer.from('0089504e470d0a1a0a', 'hex'), null],
    ['nothing', Buffer.alloc(0), null],
  ];
  for (const [what, bytes, type] of cases)
    it(`takes ${what} for ${type ?? 'no image'}`, () => {
      expect(sniffMediaType(bytes, 'image')).to.equal(type);
    });

  const others: [string, MediaKind, Buffer, string | null][] = [
    ['BMP', 'image', Buffer.from('BM\x36\x10\x00\x00\x00\x00\x00\x00\x36'), 'image/bmp'],
    ['a text that begins as a BMP', 'image', Buffer.from('BM is no image at all'), null],
    ['TIFF', 'image', Buffer.from('II*\0\x08'), 'image/tiff'],
    ['AVIF', 'image', Buffer.from('\0\0\0\x1cftypavif'), 'image/avif'],
    ['WAV', 'audio', Buffer.from('RIFF\x10\0\0\0WAVEfmt '), 'audio/wav'],
    ['MP3 with tags', 'audio', Buffer.from('ID3\x04'), 'audio/mpeg'],
    ['bare MP3', 'audio', Buffer.from('fffb9064', 'hex'), 'audio/mpeg'],
    ['AAC', 'audio', Buffer.from('fff15080', 'hex'), 'audio/aac'],
    ['FLAC', 'audio', Buffer.from('fLaC'), 'audio/flac'],
    ['M4A', 'audio', Buffer.from('\0\0\0\x1cftypM4A '), 'audio/mp4'],
    ['a picture', 'audio', Buffer.from('89504e470d0a1a0a', 'hex'), null],
    ['MP4', 'video', Buffer.from('\0\0\0\x20ftypisom'), 'video/mp4'],
    ['QuickTime', 'video', Buffer.from('\0\0\0\x14ftypqt  '), 'video/quicktime'],
    ['WebM', 'video', Buffer.from('1a45dfa3', 'hex'), 'video/webm'],
    ['AVI', 'video', Buffer.from('RIFF\x10\0\0\0AVI LIST'), 'video/x-msvideo'],
    ['a sound', 'video', Buffer.from('RIFF\x10\0\0\0WAVEfmt '), null],
    ['HTML', 'video', Buffer.from('<!doctype html>'), null],
  ];
  for (const [what, kind, bytes, type] of others)
    it(`takes ${what} for ${type ?? `no ${kind}`}`, () => {
      expect(sniffMediaType(bytes, kind)).to.equal(type);
    });
});
