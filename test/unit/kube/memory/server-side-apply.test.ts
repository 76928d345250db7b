import { expect } from 'chai';
import { BUILTIN_TYPES } from '../../../../kube/memory/builtin-types.ts';
import { MemoryApi } from '../../../../kube/memory/memory-api.ts';
import type { KubeObject } from '../../../../kube/object.ts';

const AT = { namespace: 'default', name: 'one' };

describe('server-side apply of the memory API server', () => {
  let api: MemoryApi;
  beforeEach(() => {
    api = new MemoryApi({ types: BUILTIN_TYPES });
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  });

  const apply = (manager: string, fields: object, { force = false } = {}): KubeObject =>
    api.patch(
      'configmaps',
      AT,
      { apiVersion: 'v1', kind: 'ConfigMap', ...fields },
      { type: 'apply', manager, force },
    );

  it('takes away what its manager does not want any more, and leaves what others own', () => {
    apply('one', { data: { a: '1', b: '2' } });
    apply('two', { data: { c: '3' } });
    expect(apply('one', { data: { a: '1' } }).data).to.deep.equal({ a: '1', c: '3' });
  });

  it('keeps a field that another manager wants too', () => {
    apply('one', { data: { a: '1' } });
    apply('two', { data: { a: '1', b: '2' } });
    expect(apply('one', { data: {} }).data).to.deep.equal({ a: '1', b: '2' });
  });

  it('refuses to take a field from another manager, unless forced', () => {
    apply('one', { data: { a: '1' } });
    expect(() => apply('two', { data: { a: '2' } })).to.throw(/conflict with "one": \.data\.a/);
    const taken = apply('two', { data: { a: '2' } }, { force: true });
    expect(taken.data).to.deep.equal({ a: '2' });
    expect(taken.metadata.managedFields!.map(({ manager }) => manager)).to.deep.equal(['two']);
  });

  it('takes over by an update the fields that it changes', () => {
    const applied = apply('one', { data: { a: '1', b: '2' } });
    const updated = api.update('configmaps', { ...applied, data: { a: '9', b: '2' } }, { manager: 'editor' });
    const owned = updated.metadata.managedFields!.map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
    expect(owned).to.deep.equal([
      ['one', { 'f:data': { 'f:b': {} } }],
      ['editor', { 'f:data': { 'f:a': {} } }],
    ]);
  });

  it('writes nothing where all is as it is wanted', () => {
    const first = apply('one', { data: { a: '1' } });
    expect(apply('one', { data: { a: '1' } }).metadata.resourceVersion).to.equal(
      first.metadata.resourceVersion,
    );
  });

  it('merges lists that have keys item by item', () => {
    const spec = (containers: object[]) => ({ template: { spec: { containers } } });
    const at = { namespace: 'default', name: 'web' };
    const write = (manager: string, containers: object[]) =>
      api.patch(
        'deployments.apps',
        at,
        { apiVersion: 'apps/v1', kind: 'Deployment', spec: spec(containers) },
        { type: 'apply', manager, force: true },
      );
    write('one', [{ name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] }]);
    write('two', [{ name: 'b', image: 'b:1' }]);
    const result = write('one', [{ name: 'a', image: 'a:2' }]);
    expect(result.spec).to.deep.equal(
      spec([
        { name: 'a', image: 'a:2' },
        { name: 'b', image: 'b:1' },
      ]),
    );
  });

  it('creates nothing by an apply that names the uid of an object that is gone', () => {
    const { uid } = apply('one', { data: { a: '1' } }).metadata;
    api.delete('configmaps', AT);
    expect(() => apply('one', { metadata: { uid }, data: { a: '1' } })).to.throw(/UID in precondition/);
  });
});
