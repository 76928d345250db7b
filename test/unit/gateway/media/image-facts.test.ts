import { expect } from 'chai';
import sharp from 'sharp';
import { isWholeImage } from '../../../../gateway/media/image-end.ts';
import { findImageFacts, type ImageFacts } from '../../../../gateway/media/image-facts.ts';

const paint = (width = 67, height = 41, alpha = 1) =>
  sharp({ create: { width, height, channels: 4, background: { r: 9, g: 99, b: 199, alpha } } });

describe('image facts', () => {
  const read = (bytes: Buffer) =>
    findImageFacts(async (position, length) => bytes.subarray(position, position + length));

  const images: [string, string, () => Promise<Buffer>][] = [
    ['a PNG', 'image/png', () => paint().png().toBuffer()],
    ['a PNG of a palette', 'image/png', () => paint().png({ palette: true }).toBuffer()],
    ['a JPEG', 'image/jpeg', () => paint().jpeg().toBuffer()],
    ['a progressive JPEG', 'image/jpeg', () => paint().jpeg({ progressive: true }).toBuffer()],
    [
      'a JPEG with EXIF',
      'image/jpeg',
      () =>
        paint()
          .jpeg()
          .withExif({ IFD0: { Copyright: 'x'.repeat(30_000) } })
          .toBuffer(),
    ],
    ['a JPEG with a profile', 'image/jpeg', () => paint().jpeg().withIccProfile('p3').toBuffer()],
    ['a lossy WebP', 'image/webp', () => paint().removeAlpha().webp().toBuffer()],
    ['a lossless WebP', 'image/webp', () => paint().webp({ lossless: true }).toBuffer()],
    ['a WebP with alpha', 'image/webp', () => paint(67, 41, 0.5).webp().toBuffer()],
  ];
  for (const [what, contentType, make] of images) {
    it(`tells ${what}`, async () => {
      expect(await read(await make())).to.deep.equal({ contentType, width: 67, height: 41 });
    });

    it(`takes no start of ${what} for the whole, and fails at none`, async () => {
      const bytes = await make();
      for (let length = 0; length < 20; length++)
        expect(await read(bytes.subarray(0, length))).to.equal(null);
      for (let length = 20; length < bytes.length; length += 7) await read(bytes.subarray(0, length));
    });
  }

  const evaluate = (bytes: Buffer, contentType: string) =>
    isWholeImage(async (position, length) => bytes.subarray(Math.max(0, position), position + length), {
      contentType: contentType as ImageFacts['contentType'],
      bytes: bytes.length,
    });
  for (const [what, contentType, make] of images)
    it(`knows where ${what} ends, also with bytes after it`, async () => {
      const bytes = await make();
      expect(await evaluate(bytes, contentType)).to.equal(true);
      expect(await evaluate(Buffer.concat([bytes, Buffer.alloc(5_000, 'x')]), contentType)).to.equal(true);
      for (const left of [bytes.length - 1, bytes.length - 20, 40])
        expect(await evaluate(bytes.subarray(0, left), contentType), `${left} bytes`).to.equal(false);
    });

  it('reads the heads of many chunks at once, since a small file may have thousands', async () => {
    const png = await paint().png().toBuffer();
    const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from('tEXt'), Buffer.alloc(4)]);
    const end = png.subarray(-12);
    const bytes = Buffer.concat([png.subarray(0, -12), ...Array(15_000).fill(chunk), end, chunk]);
    let reads = 0;
    const readAt = async (position: number, length: number) => {
      reads++;
      return bytes.subarray(position, position + length);
    };
    expect(await isWholeImage(readAt, { contentType: 'image/png', bytes: bytes.length })).to.equal(true);
    expect(reads).to.be.below(100);
  });

  const others: [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('hello, this is a text of more than thirty bytes')],
    ['a GIF', Buffer.from('GIF89a'.padEnd(40, '\0'))],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')],
    ['a PNG without a header', Buffer.from('\x89PNG\r\n\x1a\n'.padEnd(60, 'x'), 'latin1')],
    ['a WAV', Buffer.from('RIFF\0\0\0\0WAVEfmt '.padEnd(60, '\0'), 'latin1')],
    ['a WebP of an unknown chunk', Buffer.from('RIFF\0\0\0\0WEBPJUNK'.padEnd(60, '\0'), 'latin1')],
    ['a JPEG that ends at once', Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0, 0, 0, 0])],
    ['a JPEG of fill bytes', Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(1_000_000, 0xff)])],
    ['a JPEG of empty segments', Buffer.concat([Buffer.from([0xff, 0xd8]), repeat([0xff, 0xe1, 0, 2])])],
    ['a JPEG that goes round', Buffer.concat([Buffer.from([0xff, 0xd8]), repeat([0xff, 0xe1, 0, 0])])],
  ];
  for (const [what, bytes] of others)
    it(`is null for ${what}, soon`, async () => {
      let reads = 0;
      const facts = await findImageFacts(async (position, length) => {
        reads++;
        return bytes.subarray(position, position + length);
      });
      expect(facts).to.equal(null);
      expect(reads).to.be.at.most(1_001);
    });

  function repeat(bytes: number[]): Buffer {
    return Buffer.alloc(1_000_000, Buffer.from(bytes));
  }
});
