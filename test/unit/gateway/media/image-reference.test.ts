import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { ImageReference } from '../../../../gateway/media/image-reference.ts';
import { rejection } from '../../../support/redis-client.ts';

async function* split(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: AsyncIterable<Buffer> | string): Promise<{ bytes: Buffer; isLink: boolean }> {
  const reference = new ImageReference(text, 'mask.image_url');
  const pieces: Buffer[] = [];
  for await (const piece of reference) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), isLink: reference.isLink };
}

describe('what stands for an image', () => {
  const encode = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;

  it('is decoded from a data: URL, however it is cut and padded', async () => {
    for (const length of [0, 1, 2, 3, 4, 1_000, 100_001]) {
      const bytes = randomBytes(length);
      for (const text of [encode(bytes), encode(bytes).replace(/=+$/, '')]) {
        expect(await read(text)).to.deep.equal({ bytes, isLink: false });
        for (const size of length > 1_000 ? [65_535] : [1, 2, 3, 5, 7, 64])
          expect((await read(split(text, size))).bytes.equals(bytes), `${length} by ${size}`).to.equal(true);
      }
    }
  });

  it('may be written in other ways', async () => {
    const bytes = Buffer.from([0xfb, 0xef, 0xff, 0x01]);
    for (const text of [
      'DATA:;BASE64,++//AQ==',
      'data:image/png;charset=x; base64,++//AQ==',
      'data:image/png;base64,--__AQ',
    ])
      expect((await read(text)).bytes, text).to.deep.equal(bytes);
  });

  it('is an address as it was written', async () => {
    for (const url of [
      'https://example.com/a.png?x=1#y',
      'HTTP://EXAMPLE.com',
      'https://bücher.example/日本.png',
      `https://example.com/${'a'.repeat(8_172)}`,
    ])
      for (const text of [url, split(url, 1)]) {
        const { bytes, isLink } = await read(text);
        expect([bytes.toString(), isLink]).to.deep.equal([url, true]);
      }
  });

  const refused: [string, string, string][] = [
    ['nothing', '', 'is not a URL'],
    ['a word', 'ship.png', 'is not a URL'],
    ['a file', 'file:///etc/hostname', 'is not a URL'],
    ['a path', '/images/ship.png', 'is not a URL'],
    ['bare base64', 'iVBORw0KGgo=', 'is not a URL'],
    ['a head without end', `data:${'x'.repeat(1_000_000)}`, 'is too long for a URL'],
    ['an address without end', `https://example.com/${'x'.repeat(1_000_000)}`, 'is too long for a URL'],
    ['data without base64', 'data:image/svg+xml,<svg/>', 'must be encoded in base64'],
    ['other characters', 'data:;base64,AA%2BA', 'is not valid base64'],
    ['a space', 'data:;base64,AAAA AAAA', 'is not valid base64'],
    ['more after its padding', 'data:;base64,AA==AAAA', 'is not valid base64'],
    ['half a byte', 'data:;base64,AAAAA', 'is not valid base64'],
  ];
  for (const [what, text, why] of refused)
    it(`is refused where it is ${what}, in one piece or many`, async () => {
      for (const source of [text, split(text, 3)]) {
        const error = await rejection(read(source));
        expect(error).to.include({ code: 'invalid_value', status: 400 });
        expect(error).to.have.nested.property('details.param', 'mask.image_url');
        expect(String(error)).to.contain(why).and.contain('data:image/png;base64');
      }
    });
});
