import { expect } from 'chai';
import { EgressAgent, type EgressRequest } from '../../../gateway/egress/agent.ts';
import { Allowance } from '../../../gateway/egress/allowance.ts';
import type { EgressError, EgressErrorKind } from '../../../gateway/egress/egress-error.ts';
import {
  type LoopbackServer,
  startHttpServer,
  startHttpsServer,
  startSocketServer,
} from '../../support/loopback-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { type Certificates, makeCertificates } from '../../support/test-certificates.ts';
import { type DNSServer, startDNSServer } from './dns-server.ts';

describe('the egress agent', () => {
  let dns: DNSServer;
  let certificates: Certificates;
  let agent: EgressAgent;
  let servers: LoopbackServer[] = [];

  before(async () => {
    dns = await startDNSServer();
    dns.zone.set('images.test', () => ['127.0.0.1']);
    dns.zone.set('other.test', () => ['127.0.0.1']);
    certificates = makeCertificates('DNS:images.test,IP:127.0.0.1');
    agent = new EgressAgent({
      allow: ['127.0.0.1'],
      deny: [],
      plainHTTP: true,
      servers: [dns.address],
      ca: certificates.ca,
    });
  });
  after(async () => {
    await agent?.close();
    await dns?.stop();
  });
  afterEach(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    servers = [];
  });

  async function run(server: Promise<LoopbackServer>): Promise<LoopbackServer> {
    servers.push(await server);
    return servers.at(-1)!;
  }
  const request = (url: string, more: Partial<EgressRequest> = {}) =>
    agent.request({ url, method: 'GET', deadlineMs: 15_000, allowance: new Allowance(1_000), ...more });
  const kindOf = (promise: Promise<unknown>): Promise<EgressErrorKind | null> =>
    promise.then(
      () => null,
      (error: EgressError) => error.kind,
    );

  for (const host of ['images.test', 'IMAGES.test.', '127.0.0.1'])
    it(`speaks https to ${host}, whose certificate it checks`, async () => {
      const { port } = await run(startHttpsServer((req, res) => res.end(req.headers.host), certificates));
      const answer = await request(`https://${host}:${port}/a?b#c`);
      const name = host === '127.0.0.1' ? host : 'images.test';
      expect([answer.status, answer.body.toString()]).to.deep.equal([200, `${name}:${port}`]);
    });

  it('refuses a certificate of another name', async () => {
    let requests = 0;
    const { port } = await run(startHttpsServer(() => requests++, certificates));
    expect(await kindOf(request(`https://other.test:${port}/`))).to.equal('tls');
    expect(requests).to.equal(0);
  });

  it('refuses a certificate of an authority that it does not know', async () => {
    const { port } = await run(startHttpsServer((_, res) => res.end(), makeCertificates('DNS:images.test')));
    expect(await kindOf(request(`https://images.test:${port}/`))).to.equal('tls');
  });

  it('sends method, path, headers and body, and nothing that identifies the sender', async () => {
    const seen: unknown[] = [];
    const { port } = await run(
      startHttpServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        seen.push(req.method, req.url, body, Object.keys(req.headers).sort());
        res.end();
      }),
    );
    await request(`http://127.0.0.1:${port}/a?b=1`, {
      method: 'POST',
      body: Buffer.from('{}'),
      headers: { 'content-type': 'application/json' },
    });
    expect(seen).to.deep.equal([
      'POST',
      '/a?b=1',
      '{}',
      ['accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'user-agent'],
    ]);
  });

  const sizes: [string, number, boolean, boolean][] = [
    ['an answer of just the size allowed', 1_000, true, false],
    ['an answer announced as too long', 1_001, true, true],
    ['an answer in chunks of just the size allowed', 1_000, false, false],
    ['an answer in chunks that grows too long', 1_001, false, true],
  ];
  for (const [what, bytes, isAnnounced, isTruncated] of sizes)
    it(`${isTruncated ? 'cuts' : 'reads'} ${what}`, async () => {
      const { port } = await run(
        startHttpServer((_, res) => {
          if (isAnnounced) res.setHeader('content-length', bytes);
          res.write('x'.repeat(bytes - 1));
          res.end('x');
        }),
      );
      const answer = await request(`http://127.0.0.1:${port}/`);
      expect(answer.isTruncated).to.equal(isTruncated);
      expect(answer.body.length).to.be.at.most(1_000);
      if (!isTruncated) expect(answer.body.length).to.equal(bytes);
    });

  it('stops reading an endless answer, and closes its connection', async () => {
    let isClosed = false;
    const { port } = await run(
      startHttpServer((_, res) => {
        const timer = setInterval(() => res.write('x'.repeat(600)), 5);
        res.on('close', () => {
          clearInterval(timer);
          isClosed = true;
        });
      }),
    );
    const answer = await request(`http://127.0.0.1:${port}/`);
    expect(answer.isTruncated).to.equal(true);
    await pollUntil(() => isClosed, 'the connection is closed');
  });

  const slow: [string, () => Promise<LoopbackServer>, string][] = [
    ['says nothing to TLS', () => startSocketServer(() => {}), 'https'],
    ['says nothing to a request', () => startHttpServer(() => {}), 'http'],
    [
      'sends its headers byte by byte',
      () => startSocketServer((socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ')),
      'http',
    ],
    [
      'sends its body byte by byte',
      () => startSocketServer((socket) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n')),
      'http',
    ],
  ];
  for (const [what, start, scheme] of slow)
    it(`gives up on a server that ${what}`, async () => {
      const { port } = await run(start());
      const begin = performance.now();
      expect(await kindOf(request(`${scheme}://127.0.0.1:${port}/`, { deadlineMs: 250 }))).to.equal(
        'timeout',
      );
      expect(performance.now() - begin).to.be.within(245, 10_000);
    });

  const broken: [string, string][] = [
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['half an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['nothing', ''],
  ];
  for (const [what, text] of broken)
    it(`reports a server that answers ${what}`, async () => {
      const { port } = await run(
        startSocketServer((socket) => {
          socket.once('data', () => socket.end(text));
        }),
      );
      expect(await kindOf(request(`http://127.0.0.1:${port}/`))).to.equal('broken');
    });

  it('reports a server that is not there', async () => {
    const gone = await startHttpServer(() => {});
    await gone.stop();
    expect(await kindOf(request(`http://127.0.0.1:${gone.port}/`))).to.equal('connect');
  });

  it('gives up when its caller does', async () => {
    const caller = new AbortController();
    let isClosed = false;
    const server = await run(
      startHttpServer((req) => {
        req.on('close', () => {
          isClosed = true;
        });
        caller.abort();
      }),
    );
    expect(await kindOf(request(`http://127.0.0.1:${server.port}/`, { signal: caller.signal }))).to.equal(
      'aborted',
    );
    await pollUntil(() => isClosed, 'the connection is closed');
    expect(await kindOf(request(`http://127.0.0.1:${server.port}/`, { signal: caller.signal }))).to.equal(
      'aborted',
    );
    expect(server.connections).to.equal(1);
  });

  it('opens at most 16 connections to one destination; requests that wait too long fail with that reason', async () => {
    const waiting: (() => void)[] = [];
    const server = await run(startHttpServer((_, res) => waiting.push(() => res.end('ok'))));
    const url = `http://127.0.0.1:${server.port}/`;
    const early = Array.from({ length: 16 }, () => request(url));
    await pollUntil(() => waiting.length === 16, '16 requests have arrived');
    expect(await kindOf(request(url, { deadlineMs: 100 }))).to.equal('busy');
    const late = request(url);
    for (const answer of waiting.splice(0)) answer();
    await Promise.all(early);
    await pollUntil(() => waiting.length === 1, 'the one that waited has arrived');
    waiting[0]!();
    expect((await late).body.toString()).to.equal('ok');
    expect(server.connections).to.equal(16);
  });

  it('goes on after a server that broke off', async () => {
    let isBroken = true;
    const { port } = await run(startHttpServer((_, res) => (isBroken ? res.destroy() : res.end('ok'))));
    expect(await kindOf(request(`http://127.0.0.1:${port}/`))).to.equal('broken');
    isBroken = false;
    expect((await request(`http://127.0.0.1:${port}/`)).body.toString()).to.equal('ok');
  });
});

/** One byte now and then, for ever. */
function drip(socket: import('node:net').Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write('x'), 20);
  socket.on('close', () => clearInterval(timer));
}
