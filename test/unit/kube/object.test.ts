import { expect } from 'chai';
import { backoffDelay } from '../../../kit/retry.ts';
import { isConflict, isNamespaceTerminating, isUnserved, parseApiError } from '../../../kube/api-error.ts';
import { isLaterVersion, objectKey, splitKey } from '../../../kube/object.ts';
import { RESOURCES, resourcePath } from '../../../kube/resource.ts';

describe('Keys, versions, paths and errors', () => {
  for (const metadata of [{ name: 'a', namespace: 'ns' }, { name: 'a' }])
    it(`takes the key ${objectKey({ metadata })} apart again`, () => {
      expect(splitKey(objectKey({ metadata }))).to.deep.equal(metadata);
    });

  const versions: [string | undefined, string | undefined, boolean][] = [
    ['2', '1', true],
    ['10', '9', true],
    ['9007199254740993', '9007199254740992', true],
    ['1', '1', false],
    ['1', '2', false],
    ['1', undefined, true],
    [undefined, '1', false],
    ['opaque', 'other', true],
  ];
  for (const [a, b, later] of versions)
    it(`takes version ${a} for ${later ? 'later than' : 'no later than'} ${b}`, () => {
      expect(isLaterVersion(a, b)).to.equal(later);
    });

  const paths: [string, string][] = [
    [resourcePath(RESOURCES.Pod, {}), '/api/v1/pods'],
    [resourcePath(RESOURCES.Pod, { namespace: 'ns' }), '/api/v1/namespaces/ns/pods'],
    [
      resourcePath(RESOURCES.Deployment, { namespace: 'ns', name: 'x', subresource: 'status' }),
      '/apis/apps/v1/namespaces/ns/deployments/x/status',
    ],
    [resourcePath(RESOURCES.Node, { namespace: 'ignored', name: 'n' }), '/api/v1/nodes/n'],
    [resourcePath(RESOURCES.Node, { name: '../x?y' }), '/api/v1/nodes/..%2Fx%3Fy'],
  ];
  for (const [path, expected] of paths)
    it(`asks at ${expected}`, () => {
      expect(path).to.equal(expected);
    });

  it('refuses a namespaced object without a namespace', () => {
    expect(() => resourcePath(RESOURCES.Pod, { name: 'x' })).to.throw('Pod x needs a namespace');
  });

  it('reads the causes of a refusal, and a body that is no Status', () => {
    const status = {
      reason: 'Forbidden',
      message: 'no',
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    };
    const error = parseApiError('create pods ns/x', 403, JSON.stringify(status));
    expect(error.message).to.equal('create pods ns/x: 403 Forbidden: no');
    expect(isNamespaceTerminating(error)).to.equal(true);
    expect(isConflict(error)).to.equal(false);
    const missing = { reason: 'NotFound', message: 'namespaces "ns" not found' };
    expect(isUnserved(parseApiError('apply things ns/x', 404, JSON.stringify(missing)))).to.equal(false);
    expect(isUnserved(parseApiError('apply things ns/x', 404, '404 page not found'))).to.equal(true);
    expect(parseApiError('get pods', 502, '<html>bad gateway').message).to.equal(
      'get pods: 502 HTTP502: <html>bad gateway',
    );
  });

  it('doubles a delay up to its limit, with 50 % jitter', () => {
    const backoff = { baseMs: 100, maxMs: 1_000 };
    const bounds = (attempt: number) => [0, 1].map((chance) => backoffDelay(backoff, attempt, () => chance));
    expect([1, 2, 3, 9, 10_000].map(bounds)).to.deep.equal([
      [50, 100],
      [100, 200],
      [200, 400],
      [500, 1_000],
      [500, 1_000],
    ]);
  });
});
