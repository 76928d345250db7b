import { expect } from 'chai';
import { sniffImageType } from '../../../../gateway/egress/image-type.ts';

describe('the type of an image', () => {
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
      expect(sniffImageType(bytes)).to.equal(type);
    });
});
