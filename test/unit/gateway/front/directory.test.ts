import { expect } from 'chai';
import { parseHost, parseServiceHost } from '../../../../gateway/front/directory.ts';
import { ReplicaPicker } from '../../../../gateway/front/replica-picker.ts';
import { FreshCache } from '../../../../gateway/http/fresh-cache.ts';
import { rejection } from '../../../support/redis-client.ts';

describe('the host of a request', () => {
  const hosts: [string | undefined, string | null][] = [
    ['chat--a.example.com', 'chat--a.example.com'],
    ['Chat--A.Example.COM:8443', 'chat--a.example.com'],
    ['chat--a.example.com.', 'chat--a.example.com'],
    ['chat--a.example.com.:80', 'chat--a.example.com'],
    ['127.0.0.1:8100', '127.0.0.1'],
    ['[2001:DB8::1]:8100', '2001:db8::1'],
    [undefined, null],
    ['', null],
    ['a/b', null],
    ['a b', null],
    ['x'.repeat(300), null],
  ];
  for (const [header, host] of hosts)
    it(`is ${host} for ${JSON.stringify(header)?.slice(0, 40)}`, () => {
      expect(parseHost(header)).to.equal(host);
    });
});

describe('a name of the cluster’s DNS', () => {
  const chat = { namespace: 'team', name: 'chat' };
  const hosts: [string, object | null][] = [
    ['chat.team.svc', chat],
    ['chat.team.svc.cluster.local', chat],
    ['chat.team', chat],
    ['chat', null],
    ['chat.team.example.com', null],
    ['127.0.0.1', null],
  ];
  for (const [host, deployment] of hosts)
    it(`${deployment ? 'is' : 'is not'} ${host}`, () => {
      expect(parseServiceHost(host)).to.deep.equal(deployment);
    });
});

describe('a cache of what Redis returns', () => {
  const make = (load: (key: string) => Promise<string | null>, ttlMs = 60_000, maxEntries = 3) =>
    new FreshCache({ load, ttlMs, maxEntries });

  it('loads once for callers at the same time, and not again while fresh; unknown ones too', async () => {
    let loads = 0;
    const cache = make(async () => {
      loads++;
      return null;
    });
    await Promise.all([cache.get('a'), cache.get('a')]);
    expect(await cache.get('a')).to.equal(null);
    expect(loads).to.equal(1);
  });

  it('loads again after its time or on invalidation', async () => {
    let loads = 0;
    const short = make(async () => String(++loads), 0);
    await short.get('a');
    expect(await short.get('a')).to.equal('2');
    const long = make(async () => String(++loads));
    await long.get('a');
    long.expireAll();
    expect(await long.get('a')).to.equal('4');
  });

  it('does not take for fresh what was read before a notification', async () => {
    const answers: ((value: string) => void)[] = [];
    const cache = make(() => new Promise((resolve) => answers.push(resolve)));
    const first = cache.get('a');
    cache.expireAll();
    answers[0]!('old');
    expect(await first).to.equal('old');
    const second = cache.get('a');
    answers[1]!('new');
    expect(await second).to.equal('new');
  });

  it('serves what it knows while nothing can be loaded, and only then fails', async () => {
    let isAway = false;
    const cache = make(async () => {
      if (isAway) throw new Error('away');
      return 'known';
    }, 0);
    await cache.get('a');
    isAway = true;
    expect(await cache.get('a')).to.equal('known');
    expect(await rejection(Promise.resolve(cache.get('b')))).to.be.an('error');
  });

  it('holds a bounded number, the latest used', async () => {
    const cache = make(async (key) => key);
    for (const key of ['a', 'b', 'c']) await cache.get(key);
    cache.get('a');
    await cache.get('d');
    expect(cache.size).to.equal(3);
    expect(cache.get('a')).to.equal('a');
    expect(cache.get('b')).to.be.a('promise');
  });
});

describe('the choice of a replica', () => {
  it('is the one with the fewest requests of this front, in turn among equals', () => {
    const picker = new ReplicaPicker();
    const firsts = [1, 2, 3].map(() => picker.rank(['a', 'b', 'c'])[0]);
    expect(firsts).to.have.members(['a', 'b', 'c']);
    const leave = picker.enter('a');
    picker.enter('b');
    expect(picker.rank(['a', 'b', 'c'])[0]).to.equal('c');
    leave();
    picker.enter('c');
    expect(picker.rank(['a', 'b', 'c'])[0]).to.equal('a');
  });

  it('has nothing to choose from no address', () => {
    expect(new ReplicaPicker().rank([])).to.deep.equal([]);
  });
});
