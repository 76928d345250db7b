import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { modelDeployment } from '../../../api/model-deployment.ts';
import { findModelWarnings } from '../../../api/model-warnings.ts';
import { WARNING_CASES } from '../../support/model-warnings.ts';

describe('warnings about a model by its spec alone', () => {
  for (const { what, spec, warning } of WARNING_CASES)
    it(`${warning ? 'are given of' : 'are not given of'} ${what}`, () => {
      const model = modelDeployment.parse({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name: 'chat', namespace: 'team' },
        spec,
      });
      const warnings = findModelWarnings(model.spec);
      expect(warnings).to.have.length(warning ? 1 : 0);
      if (warning) expect(warnings[0]).to.match(warning);
      for (const text of warnings) expect(text).to.match(/^[\x20-\x7e]*$/);
    });

  it('are given of none of the examples', () => {
    const texts = readdirSync('examples', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => readFileSync(join('examples', name), 'utf8'));
    const models = texts
      .flatMap((text) =>
        parseAllDocuments(text).map((document) => document.toJS() as { kind?: string } | null),
      )
      .filter((object) => object?.kind === 'ModelDeployment')
      .map((object) => modelDeployment.parse(object));
    expect(models).not.to.have.length(0);
    for (const { spec } of models) expect(findModelWarnings(spec), spec.model.id).to.deep.equal([]);
  });
});
