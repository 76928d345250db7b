import { expect } from 'chai';
import type { KubeObject } from '../../../kube/object.ts';
import { WritableCache } from '../../../kube/object-cache.ts';

const makeObject = (name: string, team: string[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', annotations: { team: team.join() } },
});
const makeCache = () =>
  new WritableCache({ team: ({ metadata }) => metadata.annotations!.team!.split(',').filter(Boolean) });
const namesOf = (cache: WritableCache<KubeObject>, value: string) =>
  cache
    .byIndex('team', value)
    .map(({ metadata }) => metadata.name)
    .sort();

describe('the index of a cache', () => {
  it('finds all objects with a value, and each under all of its values', () => {
    const cache = makeCache();
    for (const object of [makeObject('a', ['red']), makeObject('b', ['red', 'blue']), makeObject('c', [])])
      cache.put(object);
    expect(namesOf(cache, 'red')).to.deep.equal(['a', 'b']);
    expect(namesOf(cache, 'blue')).to.deep.equal(['b']);
    expect(namesOf(cache, 'green')).to.deep.equal([]);
  });

  it('follows an object that changes its value, or is put again with the same', () => {
    const cache = makeCache();
    cache.put(makeObject('a', ['red']));
    cache.put(makeObject('a', ['red']));
    cache.put(makeObject('b', ['red']));
    cache.put(makeObject('a', ['blue']));
    expect(namesOf(cache, 'red')).to.deep.equal(['b']);
    expect(namesOf(cache, 'blue')).to.deep.equal(['a']);
  });

  it('forgets what was removed, to the last one', () => {
    const cache = makeCache();
    for (const name of ['a', 'b', 'c']) cache.put(makeObject(name, ['red']));
    for (const name of ['a', 'c', 'none']) cache.remove(`shop/${name}`);
    expect(namesOf(cache, 'red')).to.deep.equal(['b']);
    cache.remove('shop/b');
    expect(namesOf(cache, 'red')).to.deep.equal([]);
    cache.put(makeObject('b', ['red']));
    expect(namesOf(cache, 'red')).to.deep.equal(['b']);
  });
});
