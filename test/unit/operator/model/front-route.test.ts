import { expect } from 'chai';
import { mayHaveHTTPRoute } from '../../../../operator/model/front-route.ts';

const condition = (type: string, status = 'True') => ({ type, status });
const live = (route: object, status: object = {}) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: 'chat', namespace: 'team', generation: 2 },
  spec: { route },
  status: {
    observedGeneration: 2,
    conditions: [condition('Accepted'), condition('RouteReady')],
    ...status,
  },
});
const gateway = { name: 'public', namespace: 'gateways' };

describe('an HTTPRoute of another spec or setting', () => {
  it('is not looked for where this very spec, which wants none, was applied before', () => {
    expect(mayHaveHTTPRoute(live({}), { gateway: undefined })).to.equal(false);
  });

  it('is looked for where the spec is new, or names a Gateway', () => {
    expect(mayHaveHTTPRoute(live({}, { observedGeneration: 1 }), { gateway: undefined })).to.equal(true);
    expect(mayHaveHTTPRoute(live({ gateway }), { gateway: undefined })).to.equal(true);
  });

  it("is looked for where the installation's Gateway makes routes HTTPRoutes: another way may have been the default", () => {
    expect(mayHaveHTTPRoute(live({}), { gateway })).to.equal(true);
  });
});
