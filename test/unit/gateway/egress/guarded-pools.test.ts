import { expect } from 'chai';
import { GuardedPools } from '../../../../gateway/egress/guarded-connector.ts';
import { NameResolver } from '../../../../gateway/egress/name-resolver.ts';

describe('the pools of connections', () => {
  const open = () =>
    new GuardedPools({
      policy: () => 'blocked',
      plainHTTP: false,
      resolver: new NameResolver(['127.0.0.1:9']),
      connectionsPerOrigin: 1,
      maxOrigins: 2,
    });

  it('keeps one for each of the latest origins, however many are named', async () => {
    const pools = open();
    const [a, b] = ['a', 'b'].map((name) => pools.get(`https://${name}.test`));
    expect(pools.get('https://a.test')).to.equal(a);
    const named = Array.from({ length: 100 }, (_, index) => pools.get(`https://${index}.test`));
    expect(pools.size).to.equal(2);
    expect(pools.get('https://99.test')).to.equal(named[99]);
    expect([a, b].map((pool) => pool!.closed)).to.deep.equal([true, true]);
    await pools.destroy();
    expect(pools.size).to.equal(0);
  });
});
