import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { API_VERSION } from '../../../../api/kubernetes-types.ts';
import { parseDemandPath } from '../../../../gateway/front/demand-route.ts';

const FOLDER = 'examples/autoscalers';
const read = (file: string) =>
  parseAllDocuments(readFileSync(`${FOLDER}/${file}`, 'utf8')).map((document) => document.toJS());
const TARGET = { apiVersion: API_VERSION, kind: 'ModelDeployment', name: 'chat' };

describe('the examples of other autoscalers', () => {
  it('scale a ModelDeployment by its scale subresource', () => {
    const [hpa] = read('hpa.yaml');
    const [, scaledObject] = read('keda.yaml');
    for (const { spec } of [hpa, scaledObject]) expect(spec.scaleTargetRef).to.deep.equal(TARGET);
  });

  it('ask the front for the deployment that they scale, with a key that the examples make', () => {
    const [authentication, { spec, metadata }] = read('keda.yaml');
    const [{ metadata: trigger, authenticationRef }] = spec.triggers;
    const { pathname } = new URL(trigger.url);
    expect(parseDemandPath(pathname)).to.deep.equal({ namespace: metadata.namespace, name: 'chat' });
    expect(trigger.valueLocation).to.equal('demand');
    expect(authenticationRef.name).to.equal(authentication.metadata.name);
    const [key] = parseAllDocuments(readFileSync('examples/api-key.yaml', 'utf8')).map((each) => each.toJS());
    expect(authentication.spec.secretTargetRef[0].name).to.equal(`${key.metadata.name}-api-key`);
  });
});
