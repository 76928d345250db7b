import { expect } from 'chai';
import {
  inputKey,
  isBucketKey,
  isPlainKey,
  ownsKey,
  resultKey,
} from '../../../../gateway/storage/object-keys.ts';

const PLACE = { workspace: 'team-a', request: 'req_0123abcd', token: '0123456789abcdef0123456789abcdef' };

describe('keys of objects', () => {
  it('hold the workspace, the request and, for results, the token of the claim', () => {
    expect(inputKey('team-a', 'req_0123abcd', 'image.png')).to.equal('inputs/team-a/req_0123abcd/image.png');
    expect(resultKey(PLACE, 0, 'png')).to.equal(
      'results/team-a/req_0123abcd/0123456789abcdef0123456789abcdef/0.png',
    );
  });

  for (const name of [
    '../other',
    '..',
    '.hidden',
    'a/b',
    '',
    'a b',
    'a%2fb',
    'a\\b',
    'a\0b',
    'x'.repeat(1_024),
  ])
    it(`refuses an input called ${JSON.stringify(name.slice(0, 20))}`, () => {
      expect(() => inputKey('team-a', 'req_0123abcd', name)).to.throw(RangeError);
    });

  for (const key of ['/etc/passwd', 'a/../b', 'a//b', 'a/', '', './a', 'a/./b'])
    it(`finds ${JSON.stringify(key)} not plain`, () => {
      expect(isPlainKey(key)).to.equal(false);
    });

  const request = 'req_0123abcd';
  const owned: [string, boolean][] = [
    [inputKey('team-a', request, 'image.png'), true],
    [resultKey(PLACE, 0, 'png'), true],
    [`some prefix/of it/${resultKey(PLACE, 0, 'png')}`, true],
    [`prefix-${inputKey('team-a', request, 'image.png')}`, true],
    [inputKey('team-b', request, 'image.png'), false],
    [resultKey({ ...PLACE, workspace: 'team-b' }, 0, 'png'), false],
    ['results/team-b/team-a/0.png', false],
    ['results/team-b/results/team-a', false],
    ['results/team-b/req/team-a/0.png', false],
    ['results/team-b/inputs/team-a/0.png', false],
    ['results/team-a', false],
    ['team-a', false],
    ['', false],
  ];
  for (const [key, isOwn] of owned)
    it(`${isOwn ? 'belong' : 'do not belong'} to a workspace: ${JSON.stringify(key)}`, () => {
      expect(ownsKey('team-a', key)).to.equal(isOwn);
    });

  it('belong to nobody else where a prefix ends like a tree', () => {
    const key = `results/${inputKey('victim', request, '0.png')}`;
    expect(ownsKey('inputs', key)).to.equal(false);
    expect(ownsKey('victim', key)).to.equal(true);
    const result = `inputs/${resultKey({ ...PLACE, workspace: 'victim' }, 0, 'png')}`;
    expect(ownsKey('results', result)).to.equal(false);
  });

  for (const key of ['', '/a', 'a/', 'a//b', '../a', 'a/./b', 'a\nb', 'é'.repeat(600)])
    it(`refuses ${JSON.stringify(key.slice(0, 20))} in a bucket`, () => {
      expect(isBucketKey(key)).to.equal(false);
    });
  for (const key of ['a', 'my folder/é+%/x', '.hidden/..a'])
    it(`takes ${JSON.stringify(key)} in a bucket`, () => {
      expect(isBucketKey(key)).to.equal(true);
    });
});
