import { expect } from 'chai';
import { judge } from '../../../redis/inspection.ts';

const settings = { snapshots: '', mayReload: true };
const good = {
  redis_version: '7.2.4',
  run_id: 'abc',
  aof_enabled: '1',
  maxmemory: '0',
  maxmemory_policy: 'noeviction',
};

describe('inspection of Redis', () => {
  it('warns of nothing when the append-only file is on and nothing is evicted', () => {
    expect(judge(good, settings)).to.include({ persistence: 'aof', evictionSafe: true, runId: 'abc' });
    expect(judge(good, settings).warnings).to.deep.equal([]);
  });

  const faults: [string, Record<string, string>, string | null, object, RegExp][] = [
    ['no persistence', { aof_enabled: '0' }, '', { persistence: 'none' }, /does not persist/],
    ['snapshots only', { aof_enabled: '0' }, '3600 1', { persistence: 'rdb' }, /only keeps snapshots/],
    [
      'snapshots where CONFIG is forbidden',
      { aof_enabled: '0', rdb_saves: '3' },
      null,
      { persistence: 'rdb' },
      /only keeps snapshots/,
    ],
    [
      'eviction',
      { maxmemory: '100', maxmemory_policy: 'allkeys-lru' },
      '',
      { evictionSafe: false },
      /evicts keys.*allkeys-lru/,
    ],
    ['an old server', { redis_version: '6.2.14' }, '', { version: '6.2.14' }, /too old/],
    ['a failing file', { aof_last_write_status: 'err' }, '', { persistence: 'aof' }, /failed to write/],
  ];
  for (const [name, info, snapshots, expected, warning] of faults) {
    it(`warns of ${name}`, () => {
      const verdict = judge({ ...good, ...info }, { ...settings, snapshots });
      expect(verdict).to.include(expected);
      expect(verdict.warnings).to.have.length(1);
      expect(verdict.warnings[0]).to.match(warning);
    });
  }

  it('takes any policy for safe where memory has no limit', () => {
    expect(judge({ ...good, maxmemory_policy: 'allkeys-lru' }, settings).evictionSafe).to.equal(true);
  });

  it('warns of a default user as which the append-only file cannot be loaded', () => {
    const verdict = judge(good, { ...settings, mayReload: false });
    expect(verdict.reloads).to.equal('nothing');
    expect(verdict.warnings.join()).to.match(/default user lacks permissions/);
  });

  it('supposes nothing of the default user where it may not ask, or no append-only file is loaded', () => {
    expect(judge(good, { ...settings, mayReload: null }).reloads).to.equal('everything');
    const snapshots = { snapshots: '60 1', mayReload: false };
    expect(judge({ ...good, aof_enabled: '0' }, snapshots).reloads).to.equal('everything');
  });
});
