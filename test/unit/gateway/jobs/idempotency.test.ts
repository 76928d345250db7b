import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fingerprintFields, listDifferences, listFileTexts } from '../../../../gateway/jobs/idempotency.ts';

describe('the fingerprint of a request', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-fingerprint-'));
  after(() => rmSync(folder, { recursive: true }));
  const fileOf = (field: string, text: string) => {
    const path = join(folder, text);
    writeFileSync(path, text);
    return { field, file: { path } };
  };
  const print = async (...files: ReturnType<typeof fileOf>[]) =>
    fingerprintFields(await listFileTexts(files), { sha256: 'a'.repeat(64), header: 'key' });

  it('does not depend on the order in which files of different fields came', async () => {
    const [image, mask] = [fileOf('image', 'cat'), fileOf('mask', 'hole')];
    expect(listDifferences(await print(image, mask), await print(mask, image))).to.deep.equal([]);
  });

  it('distinguishes files of one field by their order', async () => {
    const [cat, dog] = [fileOf('image', 'cat'), fileOf('image', 'dog')];
    expect(listDifferences(await print(cat, dog), await print(dog, cat))).to.deep.equal([
      'image',
      'image[2]',
    ]);
  });

  it('distinguishes files of different fields', async () => {
    const [image, mask] = [await print(fileOf('image', 'cat')), await print(fileOf('mask', 'cat'))];
    expect(listDifferences(image, mask)).to.deep.equal(['mask']);
  });
});
