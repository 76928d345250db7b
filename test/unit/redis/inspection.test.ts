import { expect } from 'chai';
import { type Configuration, evaluate } from '../../../redis/inspection.ts';

const settings = { configuration: { save: '' }, mayReload: true };
const good = {
  redis_version: '7.2.4',
  run_id: 'abc',
  aof_enabled: '1',
  maxmemory: '0',
  maxmemory_policy: 'noeviction',
};

describe('inspection of Redis', () => {
  it('warns of nothing when the append-only file is on and nothing is evicted', () => {
    expect(evaluate(good, settings)).to.include({ persistence: 'aof', evictionSafe: true, runId: 'abc' });
    expect(evaluate(good, settings).warnings).to.deep.equal([]);
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
      const configuration = snapshots === null ? null : { save: snapshots };
      const verdict = evaluate({ ...good, ...info }, { ...settings, configuration });
      expect(verdict).to.include(expected);
      expect(verdict.warnings).to.have.length(1);
      expect(verdict.warnings[0]).to.match(warning);
    });
  }

  it('takes any policy for safe where memory has no limit', () => {
    expect(evaluate({ ...good, maxmemory_policy: 'allkeys-lru' }, settings).evictionSafe).to.equal(true);
  });

  it('warns of a default user as which the append-only file cannot be loaded', () => {
    const verdict = evaluate(good, { ...settings, mayReload: false });
    expect(verdict.reloads).to.equal('nothing');
    expect(verdict.warnings.join()).to.match(/default user lacks permissions/);
  });

  it('supposes nothing of the default user where it may not ask, or no append-only file is loaded', () => {
    expect(evaluate(good, { ...settings, mayReload: null }).reloads).to.equal('everything');
    const snapshots = { configuration: { save: '60 1' }, mayReload: false };
    expect(evaluate({ ...good, aof_enabled: '0' }, snapshots).reloads).to.equal('everything');
  });

  const warningsOf = (configuration: Configuration | null) =>
    evaluate(good, { ...settings, configuration }).warnings.join('\n');

  it('warns of values that are longer than Redis can read at once', () => {
    expect(warningsOf({ 'proto-max-bulk-len': '536870912' })).to.match(/set proto-max-bulk-len 1mb/);
    expect(warningsOf({ 'proto-max-bulk-len': '1048576' })).to.equal('');
  });

  it('warns of replies that nobody reads, unless something bounds them', () => {
    const limits = (normal: string) =>
      `normal ${normal} slave 268435456 67108864 60 pubsub 33554432 8388608 60`;
    const configuration = { 'client-output-buffer-limit': limits('0 0 0'), 'maxmemory-clients': '0' };
    expect(warningsOf(configuration)).to.match(/set client-output-buffer-limit normal/);
    expect(warningsOf({ ...configuration, 'maxmemory-clients': '-25' })).to.equal('');
    const bounded = limits('33554432 16777216 10');
    expect(warningsOf({ ...configuration, 'client-output-buffer-limit': bounded })).to.equal('');
  });

  it('says nothing of limits that it may not ask for', () => {
    expect(warningsOf(null)).to.equal('');
  });
});
