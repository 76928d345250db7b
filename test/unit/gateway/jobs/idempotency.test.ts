import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findDifference, fingerprintFields, listFileTexts } from '../../../../gateway/jobs/idempotency.ts';

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
    expect(findDifference(await print(image, mask), await print(mask, image))).to.equal(null);
  });

  it('distinguishes files of one field by their order', async () => {
    const [cat, dog] = [fileOf('image', 'cat'), fileOf('image', 'dog')];
    expect(findDifference(await print(cat, dog), await print(dog, cat))).to.equal('image');
  });

  it('distinguishes files of different fields', async () => {
    expect(findDifference(await print(fileOf('image', 'cat')), await print(fileOf('mask', 'cat')))).to.equal(
      'mask',
    );
  });
});
