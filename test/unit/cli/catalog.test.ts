import { expect } from 'chai';
import { CATALOG, catalogPath, formatCatalog, readCatalog } from '../../../cli/deployment/catalog.ts';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { readLocalTypes } from '../../../launch/local-resources.ts';
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

  it('has manifests that the definition accepts, rules included, with no unknown field', () => {
    const api = new MemoryApi({ types: readLocalTypes() });
    api.store.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    const apply = (object: object, name: string) =>
      api.patch('modeldeployments.berth.dev', { namespace: 'team', name }, object, {
        type: 'apply',
        manager: 'berth',
        strict: true,
      });
    for (const { object } of readManifests(CATALOG.map(({ file }) => catalogPath(file)))) {
      const placed = { ...object, metadata: { ...object.metadata, namespace: 'team' } };
      expect(apply(placed, object.metadata.name).metadata.generation, object.metadata.name).to.equal(1);
      const wrong = { ...placed, spec: { ...(object.spec as object), replica: 2 } };
      expect(() => apply(wrong, object.metadata.name)).to.throw(/spec\.replica/);
    }
  });

  it('says what was checked of each, and where and when it was run', () => {
    const proof = { on: 'one H200', date: '2026-11-29' };
    const [first] = models;
    expect(formatCatalog([{ ...first!, proof }])).to.match(/ llama\.cpp 11669 +one H200, 2026-11-29 /);
    expect(formatCatalog([{ ...first!, proof: null }])).to.match(/ not run /);
  });
});
