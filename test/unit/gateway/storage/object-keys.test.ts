import { expect } from 'chai';
import { inputKey, isPlainKey, resultKey, resultPrefix } from '../../../../gateway/storage/object-keys.ts';

const PLACE = { workspace: 'team-a', request: 'req_0123abcd', token: '0123456789abcdef0123456789abcdef' };

describe('keys of objects', () => {
  it('hold the workspace, the request and, for results, the token of the claim', () => {
    expect(inputKey('team-a', 'req_0123abcd', 'image.png')).to.equal('inputs/team-a/req_0123abcd/image.png');
    expect(resultKey(PLACE, 0, 'png')).to.equal(
      'results/team-a/req_0123abcd/0123456789abcdef0123456789abcdef/0.png',
    );
    expect(resultKey(PLACE, 1, 'mp4').startsWith(resultPrefix(PLACE))).to.equal(true);
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
});
