import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MAX_PARAMS_BYTES } from '../../../api/request.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { readEnvelope } from '../../support/text-fixture.ts';
import { type ImagesFixture, startImagesFixture } from '../gateway/images-fixture.ts';

describe('a submission that finds the disk full', function () {
  this.timeout(120_000);
  let fixture: ImagesFixture;

  before(async () => {
    fixture = await startImagesFixture();
  });
  after(() => fixture?.stop());

  it('is a 503 where its parameters are too long for the record', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-full-'));
    const spool = await Spool.open({ folder, maxBytes: 100 });
    try {
      const endpoint = await fixture.start({ storage: { spool } });
      const prompt = 'a cat '.repeat(MAX_PARAMS_BYTES / 6);
      const response = await endpoint.generate({ prompt }, { query: '?async=true' });
      expect(response.headers.get('retry-after')).to.equal('10');
      expect(await readEnvelope(response)).to.deep.include({ status: 503, code: 'temporarily_unavailable' });
    } finally {
      await spool.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
