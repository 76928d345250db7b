import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readUploadedImages } from '../../../../gateway/media/uploaded-images.ts';
import { makePicture } from '../../../support/media-files.ts';
import { rejection } from '../../../support/redis-client.ts';

describe('an uploaded image', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-images-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  /** A small image whose header claims another size; its pixels are never decoded. */
  async function upload(width: number, height: number) {
    const bytes = await makePicture(8, 8);
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    const path = join(folder, 'image.png');
    writeFileSync(path, bytes);
    const file = { path, bytes: bytes.length, remove: async () => {} };
    return readUploadedImages([{ field: 'image', param: 'image', file, isLink: false }], 'image');
  }

  it('may have 64 megapixels', async () => {
    expect(await upload(8_000, 8_000)).to.have.lengthOf(1);
  });

  it('is refused where it has more, with its size', async () => {
    const error = await rejection(upload(8_000, 8_001));
    expect(error).to.include({ code: 'invalid_image', status: 400 });
    expect(String(error)).to.contain('8000x8001').and.contain('64 megapixels');
  });
});
