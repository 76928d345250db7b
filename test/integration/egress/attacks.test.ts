import { expect } from 'chai';
import { EgressAgent, type EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { Allowance } from '../../../gateway/egress/allowance.ts';
import type { EgressError, EgressErrorKind } from '../../../gateway/egress/egress-error.ts';
import { type LoopbackServer, startHttpServer } from '../../support/loopback-server.ts';
import { PUBLIC_ONLY } from '../../support/public-egress.ts';
import { type DNSServer, startDNSServer } from './dns-server.ts';

const PUBLIC_ADDRESS = '93.184.215.14';
const LOOPBACK_ALLOWED = { allow: ['127.0.0.0/8', '::1/128'], deny: [], plainHTTP: true };

describe('an attack by URL', () => {
  let dns: DNSServer;
  let inside: LoopbackServer;
  let agents: EgressAgent[] = [];

  before(async () => {
    dns = await startDNSServer();
  });
  after(() => dns?.stop());
  beforeEach(async () => {
    dns.zone.clear();
    dns.questions.length = 0;
    // On all addresses of this machine, so that it sees every connection that should not be made.
    inside = await startHttpServer((_, res) => res.end('secret'), '::');
  });
  afterEach(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    agents = [];
    await inside.stop();
  });

  function open(options: Partial<EgressAgentOptions> = {}): EgressAgent {
    const agent = new EgressAgent({ ...PUBLIC_ONLY, servers: [dns.address], ...options });
    agents.push(agent);
    return agent;
  }
  const get = (agent: EgressAgent, url: string, deadlineMs = 3_000) =>
    agent.request({ url, method: 'GET', deadlineMs, allowance: new Allowance(1_000) });
  const kindOf = (promise: Promise<unknown>): Promise<EgressErrorKind | null> =>
    promise.then(
      () => null,
      (error: EgressError) => error.kind,
    );

  const literals = [
    ...['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1'],
    ...['017700000001', '0', '0.0.0.0', '①②⑦.⓪.⓪.①', '%31%32%37.0.0.1', '127。0。0。1'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:0:0:1]'],
    ...['localhost', 'localhost.', 'LOCALHOST', 'a.localhost', 'ｌｏｃａｌｈｏｓｔ', 'localhost。'],
    ...[
      '[::127.0.0.1]',
      '[::ffff:0:127.0.0.1]',
      '[2002:7f00:1::]',
      '[64:ff9b::127.0.0.1]',
      '[2001:0:7f00:1::]',
    ],
    ...[
      '10.0.0.1',
      '172.16.0.1',
      '192.168.0.1',
      '169.254.1.1',
      '169.254.169.254',
      '2852039166',
      '0xa9fea9fe',
    ],
    ...[
      '100.64.0.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.1',
    ],
    ...['198.18.0.1', '[fe80::1]', '[fd00::1]', '[fd00:ec2::254]', '[ff02::1]', '[2001:db8::1]'],
  ];
  for (const host of literals)
    for (const scheme of ['https', 'http'])
      it(`${scheme}://${host} reaches nothing`, async () => {
        const kind = await kindOf(get(open(), `${scheme}://${host}:${inside.port}/`));
        expect(kind).to.equal(scheme === 'https' ? 'address' : 'scheme');
        expect([inside.connections, dns.questions]).to.deep.equal([0, []]);
      });

  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', 'localhost', 'a.localhost.'])
    it(`would be heard: ${host} reaches the listener where loopback is allowed`, async () => {
      const answer = await get(open(LOOPBACK_ALLOWED), `http://${host}:${inside.port}/`);
      expect([answer.body.toString(), inside.connections]).to.deep.equal(['secret', 1]);
    });

  const names: [string, string[]][] = [
    ['loopback', ['127.0.0.1']],
    ['loopback in IPv6', ['::1']],
    ['IPv4-mapped loopback', ['::ffff:7f00:1']],
    ['the unspecified address', ['0.0.0.0']],
    ['a public and a loopback address', [PUBLIC_ADDRESS, '127.0.0.1']],
    ['a loopback and a public address', ['127.0.0.1', PUBLIC_ADDRESS]],
    ['a public IPv4 and a loopback IPv6 address', [PUBLIC_ADDRESS, '::1']],
    ['a public and a metadata address', [PUBLIC_ADDRESS, '169.254.169.254']],
    ['many public and one private address', [...Array.from({ length: 9 }, () => PUBLIC_ADDRESS), '10.0.0.1']],
    ['6to4', ['2002:7f00:1::']],
    ['NAT64', ['64:ff9b::7f00:1']],
    ['Teredo', ['2001:0:7f00:1::']],
    ['CGNAT', ['100.64.0.1']],
    ['multicast', ['224.0.0.1', 'ff02::1']],
    ['a private address', ['192.168.0.1']],
    ['a unique local address', ['fd00::1']],
    ['a link-local address', ['169.254.1.1']],
    ['a link-local address in IPv6', ['fe80::1']],
    ['a metadata address', ['169.254.169.254']],
    ['a metadata address in IPv6', ['fd00:ec2::254']],
    ['documentation', ['192.0.2.1', '2001:db8::1']],
  ];
  for (const [what, addresses] of names)
    it(`a name that resolves to ${what} reaches nothing`, async () => {
      dns.zone.set('evil.test', () => addresses);
      const agent = open();
      expect(await kindOf(get(agent, `https://evil.test:${inside.port}/`))).to.equal('address');
      expect(await kindOf(agent.check('https://evil.test/'))).to.equal('address');
      expect(inside.connections).to.equal(0);
    });

  const disguises: [what: string, write: (port: number) => string, kind: EgressErrorKind][] = [
    ['a user name', (port) => `https://hooks.example@127.0.0.1:${port}/`, 'userinfo'],
    ['a password', (port) => `https://a:b@localhost:${port}/`, 'userinfo'],
    ['a host name in brackets', (port) => `https://[localhost]:${port}/`, 'url'],
    ['an IPv4 address in brackets', (port) => `https://[127.0.0.1]:${port}/`, 'url'],
    ['a zone', (port) => `https://[fe80::1%25lo]:${port}/`, 'url'],
    ['too large a number', (port) => `https://4294967296:${port}/`, 'url'],
    ['a look-alike of localhost', (port) => `https://lоcalhost:${port}/`, 'unresolvable'],
    ['a backslash', (port) => `https://hooks.example\\@127.0.0.1:${port}/`, 'unresolvable'],
    ['another scheme', (port) => `gopher://127.0.0.1:${port}/`, 'scheme'],
    ['a port of other services', () => 'https://127.0.0.1:22/', 'port'],
    ['port 0', () => 'https://127.0.0.1:0/', 'port'],
  ];
  for (const [what, write, kind] of disguises)
    it(`a URL with ${what} reaches nothing`, async () => {
      const url = write(inside.port);
      const agent = open();
      expect([await kindOf(get(agent, url)), await kindOf(agent.check(url))]).to.deep.equal([kind, kind]);
      expect(inside.connections).to.equal(0);
    });

  it('a name that changes between the save and the request reaches nothing', async () => {
    let address = PUBLIC_ADDRESS;
    dns.zone.set('rebind.test', () => [address]);
    const agent = open();
    await agent.check(`https://rebind.test:${inside.port}/`);
    address = '127.0.0.1';
    expect(await kindOf(get(agent, `https://rebind.test:${inside.port}/`))).to.equal('address');
    expect(inside.connections).to.equal(0);
  });

  it('a name that resolves differently each time is connected to at the checked address', async () => {
    const allowed = await startHttpServer((_, res) => res.end('allowed'), '127.0.0.2');
    const trap = await startHttpServer((_, res) => res.end('secret'), '127.0.0.1', allowed.port);
    const answers = ['127.0.0.2', '127.0.0.1', '127.0.0.1'];
    let asked = 0;
    dns.zone.set('rebind.test', () => [answers[Math.floor(asked++ / 2)] ?? '127.0.0.1']);
    try {
      const agent = open({ allow: ['127.0.0.2'], plainHTTP: true });
      const { body } = await get(agent, `http://rebind.test:${allowed.port}/`);
      expect(body.toString()).to.equal('allowed');
      expect(dns.questions.sort()).to.deep.equal(['A rebind.test', 'AAAA rebind.test']);
      expect(trap.connections).to.equal(0);
    } finally {
      await Promise.all([allowed.stop(), trap.stop()]);
    }
  });

  it('a connection that ended up elsewhere than checked says nothing', async () => {
    let evaluated = 0;
    let requests = 0;
    const server = await startHttpServer((_, res) => {
      requests++;
      res.end();
    });
    dns.zone.set('moving.test', () => ['127.0.0.1']);
    // The look-up's question first, then the connection's.
    const agent = open({ plainHTTP: true, policy: () => (evaluated++ === 0 ? 'allowed' : 'blocked') });
    expect(await kindOf(get(agent, `http://moving.test:${server.port}/`))).to.equal('address');
    expect([evaluated, requests]).to.deep.equal([2, 0]);
    await server.stop();
  });

  it('a connection kept from before is judged again', async () => {
    let verdict: 'allowed' | 'blocked' = 'allowed';
    dns.zone.set('kept.test', () => ['127.0.0.1']);
    const agent = open({ plainHTTP: true, policy: () => verdict });
    const url = `http://kept.test:${inside.port}/`;
    await get(agent, url);
    // The pool sees only then that the connection is free again.
    await new Promise((resolve) => setImmediate(resolve));
    await get(agent, url);
    await new Promise((resolve) => setImmediate(resolve));
    expect(inside.connections, 'it is kept').to.equal(1);
    verdict = 'blocked';
    expect(await kindOf(get(agent, url))).to.equal('address');
    expect(inside.connections).to.equal(1);
  });

  it('a redirect to the inside is not followed', async () => {
    const locations = [`http://127.0.0.1:${inside.port}/`, `//[::1]:${inside.port}/`, '/again'];
    let requests = 0;
    const outside = await startHttpServer((_, res) => {
      res.writeHead(302, { location: locations[requests++]! }).end();
    }, '127.0.0.2');
    const agent = open({ allow: ['127.0.0.2'], plainHTTP: true });
    for (const _ of locations) {
      const { status } = await get(agent, `http://127.0.0.2:${outside.port}/`);
      expect(status).to.equal(302);
    }
    expect([requests, inside.connections]).to.deep.equal([3, 0]);
    await outside.stop();
  });

  it('plain http reaches no public address, even where it is enabled', async () => {
    dns.zone.set('public.test', () => [PUBLIC_ADDRESS]);
    const agent = open(LOOPBACK_ALLOWED);
    expect(await kindOf(agent.check('http://public.test/'))).to.equal('scheme');
    expect(await kindOf(get(agent, `http://${PUBLIC_ADDRESS}/`))).to.equal('scheme');
  });

  it('a name that does not exist cannot be distinguished from an internal one', async () => {
    dns.zone.set('inside.test', () => ['10.0.0.1']);
    const message = (url: string) => get(open(), url).catch((error: Error) => error.message);
    expect(await message('https://inside.test/')).to.equal(await message('https://nowhere.test/'));
  });

  it('a DNS server that does not answer takes no longer than the deadline', async () => {
    dns.zone.set('slow.test', () => null);
    const start = performance.now();
    expect(await kindOf(get(open(), 'https://slow.test/', 200))).to.equal('timeout');
    expect(performance.now() - start).to.be.within(195, 10_000);
  });

  it('a DNS server that does not answer is asked once', async () => {
    dns.zone.set('slow.test', () => null);
    expect(await kindOf(get(open(), 'https://slow.test/', 9_000))).to.equal('unresolvable');
    expect(dns.questions.sort()).to.deep.equal(['A slow.test', 'AAAA slow.test']);
  });

  it('search domains and the hosts file play no part', async () => {
    expect(await kindOf(get(open(), 'https://kubernetes/'))).to.equal('unresolvable');
    expect(new Set(dns.questions)).to.deep.equal(new Set(['A kubernetes', 'AAAA kubernetes']));
  });
});
