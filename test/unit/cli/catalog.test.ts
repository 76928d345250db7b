import { expect } from 'chai';
import { CATALOG, catalogPath, formatCatalog, readCatalog } from '../../../cli/deployment/catalog.ts';
import { readManifests } from '../../../launch/manifests.ts';

describe('the catalog', () => {
  const models = readCatalog();

  it('has manifests of one deployment each, under names of their own', () => {
    for (const { file } of CATALOG)
      expect(readManifests([catalogPath(file)]).map(({ object }) => object.kind)).to.deep.equal([
        'ModelDeployment',
      ]);
    expect(new Set(models.map(({ name }) => name)).size).to.equal(CATALOG.length);
  });

  it('says where and when each was proved', () => {
    const proof = { gpu: 'one H200', date: '2026-11-29' };
    const [first] = models;
    expect(formatCatalog([{ ...first!, proof }])).to.match(/ one H200, 2026-11-29 /);
    expect(formatCatalog([{ ...first!, proof: null }])).to.match(/ not proved /);
  });
});
