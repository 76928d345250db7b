import { expect } from 'chai';
import { type DurabilitySettings, evaluateServer, type ServerFacts } from '../../../redis/durability.ts';

const good: ServerFacts = {
  persistence: 'aof',
  reloads: 'everything',
  keptWrites: true,
  evictionSafe: true,
  usedMemory: 84,
  maxMemory: 100,
};
const evicting = { evictionSafe: false, usedMemory: 100 };
const allowed = { allowLoss: true };

describe('the judgment of a Redis that is to keep requests', () => {
  const cases: [string, Partial<ServerFacts>, DurabilitySettings, RegExp | null][] = [
    ['an append-only file and memory left', {}, {}, null],
    ['snapshots', { persistence: 'rdb' }, {}, null],
    ['no persistence', { persistence: 'none' }, {}, /does not persist/],
    ['no persistence that is allowed', { persistence: 'none' }, allowed, null],
    ['a default user without rights', { reloads: 'nothing' }, {}, /default user lacks permissions/],
    ['a default user without rights that is allowed', { reloads: 'nothing' }, allowed, null],
    ['a restart that dropped writes', { keptWrites: false }, {}, /lost what functions had written/],
    ['a restart that dropped writes, allowed', { keptWrites: false }, allowed, null],
    ['eviction', evicting, {}, /evicts keys/],
    ['eviction that is allowed', evicting, allowed, null],
    ['85 % of its memory in use', { usedMemory: 85 }, {}, /85 %/],
    ['85 % of its memory in use, whatever is allowed', { usedMemory: 85 }, allowed, /85 %/],
    ['no limit of memory', { usedMemory: 1e12, maxMemory: 0 }, {}, null],
  ];
  for (const [what, inspection, settings, expected] of cases) {
    it(`${expected ? 'refuses' : 'takes'} one with ${what}`, () => {
      const reason = evaluateServer({ ...good, ...inspection }, settings);
      if (expected) expect(reason).to.match(expected);
      else expect(reason).to.equal(null);
    });
  }
});
