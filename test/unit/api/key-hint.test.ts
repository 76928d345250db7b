import { expect } from 'chai';
import { generateApiKey, hintApiKey } from '../../../api/identity.ts';

describe('what is shown of an API key', () => {
  it('is its prefix and its last four characters', () => {
    const key = generateApiKey();
    expect(hintApiKey(key)).to.equal(`sk-berth-…${key.slice(-4)}`);
  });

  it('is the end alone of a key with another prefix', () => {
    expect(hintApiKey('own-prefix-0123456789abcdefghijklmnop')).to.equal('…mnop');
  });

  it('is nothing of a key that is short, or ends in characters of which a terminal may make anything', () => {
    expect(hintApiKey('sk-berth-short')).to.equal(undefined);
    expect(hintApiKey(`sk-berth-${'a'.repeat(40)}\u001b[0m`)).to.equal(undefined);
    expect(hintApiKey(`sk-berth-${'a'.repeat(40)}\n`)).to.equal(undefined);
  });
});
