import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';

/** A claim for the highest priority, and one of the four that are for all. */
const forHighest = (name: string): string => `1${name}`;
const forAll = (name: string): string => `4${name}`;

describe('the turns of API keys of different priorities', () => {
  const space = useMediaWorkspace();
  const keyOf = (letter: string) => letter.repeat(64);
  const submit = (letter: string, priority: number) =>
    space.submitted({ sha256: keyOf(letter), ...(priority !== 0 && { priority }) });
  let claims = 0;
  const take = async (kind: (name: string) => string): Promise<string | undefined> =>
    (await space.claim(kind(`claim-${++claims}`)))?.claim.id;

  it('come sooner the higher they are, and in turn within one', async () => {
    const [low, usual] = [await submit('a', -1), await submit('b', 0)];
    const high = { c: [await submit('c', 100), await submit('c', 100)], d: [await submit('d', 100)] };
    const order = [high.c[0], high.d[0], high.c[1], usual, low];
    for (const id of order) expect(await take(forHighest)).to.equal(id);
    expect(await take(forHighest)).to.equal(undefined);
  });

  it('are for all with one of four claims: of them, the one that was longest ago comes', async () => {
    const low = [await submit('a', -100), await submit('a', -100)];
    const usual = await submit('b', 0);
    const high = [await submit('c', 7), await submit('c', 7), await submit('c', 7)];
    expect(await take(forHighest)).to.equal(high[0]);
    expect(await take(forAll)).to.equal(low[0]);
    expect(await take(forAll)).to.equal(usual);
    expect(await take(forAll), 'whose turn was before that of the low one').to.equal(high[1]);
    expect(await take(forAll)).to.equal(low[1]);
    expect(await take(forAll)).to.equal(high[2]);
  });

  it('are as the latest submission of the key has it', async () => {
    const rising = [await submit('a', 0), await submit('a', 0)];
    const other = [await submit('b', 5), await submit('b', 5)];
    await submit('a', 9);
    for (const id of [...rising]) expect(await take(forHighest)).to.equal(id);
    await submit('a', -9);
    for (const id of other) expect(await take(forHighest)).to.equal(id);
  });

  it('lie within what keys may have, whatever is asked for', async () => {
    const far = await submit('a', -1_000_000);
    const lowest = await submit('b', -100);
    const highest = await submit('c', 100);
    const farther = await submit('d', 1_000_000);
    for (const id of [highest, farther, far, lowest]) expect(await take(forHighest)).to.equal(id);
  });

  it('stay in bounds where a tenant has written what is no turn', async () => {
    const turns = workKeys(space.namespace).turns(space.deployment);
    const mine = await submit('a', 0);
    for (const [index, score] of ['-inf', 'inf', '-9e300', '9e300', '0'].entries())
      await space.redis.zadd(turns, score, `forged-${index}`);
    // Each forged turn has no queue, and goes with its claim.
    const taken = [];
    for (let count = 0; count < 6; count++) taken.push(await take(count % 2 ? forAll : forHighest));
    expect(taken.filter((id) => id !== undefined)).to.deep.equal([mine]);
    expect(await space.redis.exists(turns)).to.equal(0);
  });
});
