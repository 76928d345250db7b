import { expect } from 'chai';
import { hashPrefix, MAX_PREFIX, MIN_PREFIX } from '../../../../gateway/capacity/prefix-hash.ts';

const SEED = 12_345;
/** The hashes of all prefixes that are considered. */
function listHashes(parts: readonly unknown[], seed = SEED): number[] {
  const hashes: number[] = [];
  hashPrefix(parts, seed, (hash) => {
    hashes.push(hash);
    return false;
  });
  return hashes;
}
const first = (parts: readonly unknown[]) => hashPrefix(parts, SEED, () => true);
const text = (length: number, letter = 'a') => letter.repeat(length);
const message = (role: string, content: unknown) => ({ role, content });

describe('hashes of the beginnings of a prompt', () => {
  it('are none of a prompt that is too short to matter', () => {
    expect(first([text(MIN_PREFIX - 2)])).to.equal(null);
    expect(first([])).to.equal(null);
    expect(first([undefined, null, text(MIN_PREFIX)])).to.be.a('number');
  });

  it('are those of the turns before, in the next turn of a conversation', () => {
    const turns = [
      message('system', text(300)),
      message('user', 'What is a harbour?'),
      message('assistant', text(700, 'b')),
      message('user', 'And a bridge?'),
    ];
    const before = listHashes(turns.slice(0, 2));
    const after = listHashes(turns);
    expect(before).to.have.length.above(1);
    expect(after.slice(0, before.length)).to.deep.equal(before);
    expect(new Set(after)).to.have.property('size', after.length);
  });

  it('differ from the first difference on, within a message as well', () => {
    const document = text(5_000);
    const one = listHashes([message('user', `${document} Who wrote it?`)]);
    const other = listHashes([message('user', `${document} When was it written?`)]);
    expect(one[0]).to.equal(other[0]);
    expect(one.at(-2)).to.equal(other.at(-2));
    expect(one.at(-1)).not.to.equal(other.at(-1));
  });

  it('differ between deployments, by their secrets', () => {
    const [one] = listHashes([text(300)], 1);
    const [other] = listHashes([text(300)], 2);
    expect(one).not.to.equal(other);
  });

  it('tell token ids, parts and images apart', () => {
    const image = (url: string) => [message('user', [{ type: 'image_url', image_url: { url } }])];
    const prompts = [
      [Array.from({ length: 100 }, (_, id) => id)],
      [Array.from({ length: 100 }, (_, id) => id + 1)],
      image(`data:image/png;base64,${text(2_000)}`),
      image(`data:image/png;base64,${text(2_000, 'b')}`),
    ];
    expect(new Set(prompts.map((parts) => listHashes(parts).at(-1)))).to.have.property('size', 4);
  });

  it('stop at the first beginning that is fine enough, and at a bound', () => {
    let looks = 0;
    const endless = {
      get content() {
        looks++;
        return text(1_000);
      },
    };
    hashPrefix([text(1_000), endless], SEED, () => true);
    expect(looks).to.equal(0);
    const parts = Array.from({ length: (10 * MAX_PREFIX) / 1_000 }, () => endless);
    hashPrefix(parts, SEED, () => false);
    expect(looks).to.be.most(MAX_PREFIX / 1_000 + 1);
  });

  it('cost no more than others where a prompt has hardly any text, however wide or deep it is', () => {
    let looks = 0;
    const empty = () => {
      looks++;
      return {};
    };
    const wide = Array.from({ length: 3 * MAX_PREFIX }, () =>
      Object.create(null, { '': { get: empty, enumerable: true } }),
    );
    hashPrefix([wide], SEED, () => false);
    hashPrefix(wide, SEED, () => false);
    expect(looks).to.be.most(2 * MAX_PREFIX);
    const deep: unknown = JSON.parse('['.repeat(8_000) + ']'.repeat(8_000));
    expect(listHashes([text(300), deep, text(9_000)])).to.have.length.above(0);
  });
});
