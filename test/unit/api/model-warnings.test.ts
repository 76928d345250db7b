import { expect } from 'chai';
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
});
