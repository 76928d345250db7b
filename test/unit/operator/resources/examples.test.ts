import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { apiKey } from '../../../../api/api-key.ts';
import { ENGINE_PRESETS, MODEL_KINDS } from '../../../../api/engine-presets.ts';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import { storageCredential } from '../../../../api/storage-credential.ts';
import { workspace } from '../../../../api/workspace.ts';
import { build } from './fixtures.ts';

const FOLDER = 'examples';
const SCHEMAS = {
  ModelDeployment: modelDeployment,
  Workspace: workspace,
  APIKey: apiKey,
  StorageCredential: storageCredential,
};

const documents = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(`${FOLDER}/${file}`, 'utf8')).map((document) => ({
      file,
      // The API server gives every object a uid.
      object: { ...document.toJS(), metadata: { ...document.toJS().metadata, uid: 'u' } },
    })),
  );
const models = documents
  .filter(({ object }) => object.kind === 'ModelDeployment')
  .map(({ file, object }) => ({ file, model: modelDeployment.parse(object) }));

describe('the examples', () => {
  for (const { file, object } of documents)
    it(`${file} is valid`, () => {
      const schema = SCHEMAS[object.kind as keyof typeof SCHEMAS];
      expect(schema, object.kind).not.to.equal(undefined);
      expect(schema.safeParse(object).error?.message).to.equal(undefined);
    });

  for (const { file, model } of models)
    it(`${file} can be applied by an operator as it is installed`, () => {
      expect(build(model, { allowedHosts: [], allowedAnnotations: [] }).problems).to.deep.equal([]);
    });

  it('show every engine and every kind', () => {
    const presets = new Set(models.map(({ model }) => model.spec.engine.preset));
    const kinds = new Set(models.map(({ model }) => model.spec.kind));
    expect([...presets]).to.have.members([...ENGINE_PRESETS]);
    expect([...kinds]).to.have.members([...MODEL_KINDS]);
  });

  it('have names of their own, so that all can be applied at once', () => {
    const names = documents.map(({ object }) => `${object.kind}/${object.metadata.name}`);
    expect(new Set(names).size).to.equal(names.length);
  });
});
