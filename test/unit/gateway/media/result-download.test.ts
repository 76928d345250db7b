import {
  Agent,
  createServer as createStore,
  type IncomingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { linkSecret } from '../../../../api/identity.ts';
import { openBodyMemory } from '../../../../gateway/http/body-memory.ts';
import { answerErrors } from '../../../../gateway/http/errors.ts';
import { type GatewayState, identifyRequest } from '../../../../gateway/http/exchange.ts';
import { ROUTES } from '../../../../gateway/http/routes.ts';
import { findRoute } from '../../../../gateway/http/routing.ts';
import { createListener, createServer } from '../../../../gateway/http/server.ts';
import { serveResults } from '../../../../gateway/media/result-download.ts';
import { Downloader } from '../../../../gateway/storage/download.ts';
import { signResultLink } from '../../../../gateway/storage/result-links.ts';
import type { GetUrlsRequest } from '../../../../gateway/storage/url-signer.ts';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../../gateway/telemetry/metrics.ts';
import { describeModel } from '../../../support/model-replica.ts';
import { pollUntil } from '../../../support/poll.ts';

const SECRET = linkSecret('peer');
const KEY = 'berth/results/team/req_1/0f/0.png';
const HOUR_S = 3_600;

describe('a link to a result at the endpoint', () => {
  const config = describeModel();
  const places = openBodyMemory(3, 0);
  let now = Date.now();
  let origin: string;
  let storeOrigin: string;
  /** How the store responds. */
  let respond: (res: ServerResponse, headers: IncomingHttpHeaders) => void;
  /** Before the request is served. */
  let delay: (res: ServerResponse) => Promise<void>;
  let handling: Promise<unknown>;
  let idleMs: number | undefined;
  const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  const signed: GetUrlsRequest[] = [];

  const downloader = new Downloader({ egress: { allow: ['127.0.0.0/8'], deny: [], plainHTTP: true } });
  const store = createStore((req, res) => {
    asked.push({ url: req.url!, headers: req.headers });
    respond(res, req.headers);
  });
  const app = new Koa<GatewayState>();
  const log = createLog('silent');
  app.use(identifyRequest());
  app.use(answerErrors({ log, metrics: createMetrics(), findUsage: () => null }));
  app.use(findRoute(ROUTES));
  app.use(({ res }, next) => {
    handling = delay(res).then(next);
    return handling;
  });
  app.use(
    serveResults({
      config: () => config,
      storage: {
        downloader,
        urlSigner: {
          signPuts: () => Promise.reject(new Error('unused')),
          signGets: async (question) => {
            signed.push(question);
            return question.objects.map(({ key }) => `${storeOrigin}/${key}?secret=1`);
          },
        },
      },
      secret: () => SECRET,
      clock: () => now,
      places,
      get idleMs() {
        return idleMs;
      },
    }),
  );
  const server = createServer(createListener(app), () => config.limits);

  before(async () => {
    for (const each of [store, server])
      await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    storeOrigin = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  });
  after(() => {
    for (const each of [store, server]) {
      each.closeAllConnections();
      each.close();
    }
    downloader.close();
  });
  beforeEach(() => {
    now = Date.now();
    delay = async () => {};
    idleMs = undefined;
    for (const list of [asked, signed]) list.splice(0);
    respond = (res) => {
      res.writeHead(200, {
        'content-type': 'image/png',
        etag: '"e1"',
        'accept-ranges': 'bytes',
        'x-amz-request-id': 'internal',
        server: 'store',
      });
      res.end('a picture');
    };
  });

  const sign = (changes: { key?: string; credential?: string | null; secret?: Buffer } = {}) =>
    signResultLink(
      { origin, credential: null, key: KEY, expiresInSeconds: HOUR_S, ...changes },
      changes.secret ?? SECRET,
    );
  const readError = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: string } };
    return { status: response.status, code: error.code };
  };

  it('gets what the store sends, without a key and whatever key is sent', async () => {
    const link = sign();
    expect(new URL(link).pathname).to.equal(`/v1/results/-/${KEY}`);
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const response = await fetch(link, { headers });
      expect(await response.text()).to.equal('a picture');
      const picked = [
        'content-type',
        'etag',
        'accept-ranges',
        'cache-control',
        'x-content-type-options',
        'server',
      ];
      expect(picked.map((name) => response.headers.get(name))).to.deep.equal([
        'image/png',
        '"e1"',
        'bytes',
        'private',
        'nosniff',
        null,
      ]);
      expect(response.headers.get('content-security-policy')).to.include('sandbox');
      expect(response.headers.get('x-request-id')).to.be.a('string');
    }
    for (const { headers } of asked) expect(headers).not.to.have.property('authorization');
    expect(signed[0]).to.deep.include({
      namespace: 'team',
      credential: null,
      objects: [{ key: KEY }],
      isInternal: true,
    });
  });

  it('passes conditions and ranges on, and what the store makes of them', async () => {
    respond = (res, headers) => {
      if (headers['if-none-match'] === '"e1"') return res.writeHead(304, { etag: '"e1"' }).end();
      if (headers.range === 'bytes=90-')
        return res.writeHead(416, { 'content-range': 'bytes */9' }).end('<Error/>');
      return res.writeHead(206, { 'content-range': 'bytes 2-4/9', 'content-length': 3 }).end('pic');
    };
    const part = await fetch(sign(), { headers: { range: 'bytes=2-4', 'if-range': '"e1"' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).to.deep.equal([
      206,
      'bytes 2-4/9',
      'pic',
    ]);
    expect(asked[0]!.headers).to.include({ range: 'bytes=2-4', 'if-range': '"e1"' });
    const same = await fetch(sign(), { headers: { 'if-none-match': '"e1"' } });
    expect([same.status, same.headers.get('etag'), await same.text()]).to.deep.equal([304, '"e1"', '']);
    const beyond = await fetch(sign(), { headers: { range: 'bytes=90-' } });
    expect(beyond.headers.get('content-range')).to.equal('bytes */9');
    expect(await readError(beyond)).to.deep.equal({ status: 416, code: 'invalid_request_error' });
  });

  it('shows the head alone to HEAD', async () => {
    respond = (res) =>
      void res.writeHead(200, { 'content-length': 9, 'content-type': 'image/png' }).end('a picture');
    const response = await fetch(sign(), { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).to.deep.equal([
      200,
      '9',
      '',
    ]);
  });

  it('names the object, whatever its prefix, and the StorageCredential of its bucket', async () => {
    const key = `a%2Fb c/\u00fc+&?#/results/team/req_1/0f/0.png`;
    expect((await fetch(sign({ key, credential: 'our-bucket' }))).status).to.equal(200);
    expect(signed[0]).to.deep.include({ credential: 'our-bucket', objects: [{ key }] });
  });

  const change = (edit: (url: URL) => void) => () => {
    const url = new URL(sign());
    edit(url);
    return url.href;
  };
  const TAMPERED: Record<string, () => string> = {
    'another object': change((url) => {
      url.pathname = url.pathname.replace('req_1', 'req_2');
    }),
    'another bucket': change((url) => {
      url.pathname = url.pathname.replace('/-/', '/theirs/');
    }),
    'a later end': change((url) => {
      url.searchParams.set('expires', '9999999999');
    }),
    'another name': change((url) => {
      url.searchParams.set('name', 'setup.exe');
    }),
    'no signature': change((url) => {
      url.searchParams.delete('signature');
    }),
    'half a signature': change((url) => {
      url.searchParams.set('signature', url.searchParams.get('signature')!.slice(0, 20));
    }),
    'a malformed path': () => sign().replace('req_1', 'req_%zz'),
    'a way up': () => sign().replace('req_1', '..%2f..%2fother'),
    'no object': () => `${origin}/v1/results/-`,
    'the signature of another deployment': () => sign({ secret: linkSecret('other peer') }),
  };
  for (const [what, build] of Object.entries(TAMPERED))
    it(`is refused with ${what}, before anything is asked for`, async () => {
      expect(await readError(await fetch(build()))).to.deep.equal({
        status: 403,
        code: 'permission_denied',
      });
      expect([...asked, ...signed]).to.deep.equal([]);
    });

  it('lives until its end', async () => {
    const link = sign();
    const end = Number(new URL(link).searchParams.get('expires')) * 1_000;
    now = end - 1;
    expect((await fetch(link)).status).to.equal(200);
    now = end;
    const late = await fetch(link);
    expect(await readError(late)).to.deep.equal({ status: 403, code: 'permission_denied' });
    expect(() =>
      signResultLink({ origin, credential: null, key: KEY, expiresInSeconds: 8 * 86_400 }, SECRET),
    ).to.throw(RangeError);
  });

  for (const [status, expected] of [
    [404, { status: 404, code: 'result_expired' }],
    [403, { status: 404, code: 'result_expired' }],
    [307, { status: 503, code: 'temporarily_unavailable' }],
    [500, { status: 503, code: 'temporarily_unavailable' }],
  ] as const)
    it(`answers ${expected.status} where the store answers ${status}, without its text`, async () => {
      respond = (res) =>
        void res.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('<Error>internal</Error>');
      expect(await readError(await fetch(sign()))).to.deep.equal(expected);
    });

  it('breaks off where the store does', async () => {
    respond = (res) => {
      res.writeHead(200, { 'content-length': 100 });
      res.write('half', () => res.destroy());
    };
    const response = await fetch(sign());
    expect(response.status).to.equal(200);
    expect(await response.text().catch(() => 'broken')).to.equal('broken');
  });

  it('takes one of a bounded number of places, and leaves it', async () => {
    const held: ServerResponse[] = [];
    respond = (res) => {
      res.writeHead(200, { 'content-length': 9 });
      res.write('a ');
      held.push(res);
    };
    const open = await Promise.all([fetch(sign()), fetch(sign())]);
    const refused = await fetch(sign());
    expect(refused.headers.get('retry-after')).to.equal('5');
    expect(await readError(refused)).to.deep.equal({ status: 503, code: 'temporarily_unavailable' });
    for (const res of held) res.end('picture');
    for (const response of open) expect(await response.text()).to.equal('a picture');
    await pollUntil(async () => places.used === 0, 'the places to be left');
  });

  it('takes no place for a client that has left before', async () => {
    const client = new AbortController();
    delay = (res) =>
      new Promise((resolve) => {
        res.once('close', resolve);
        client.abort();
      });
    await fetch(sign(), { signal: client.signal }).catch(() => {});
    await handling.catch(() => {});
    expect([places.used, asked]).to.deep.equal([0, []]);
  });

  it('uses no connection again, which the store may close at that moment', async () => {
    const known = new WeakSet<object>();
    respond = (res) => {
      if (known.has(res.socket!)) return void res.socket!.destroy();
      known.add(res.socket!);
      res.end('a picture');
    };
    for (let count = 0; count < 3; count++) expect(await (await fetch(sign())).text()).to.equal('a picture');
  });

  for (const isTenantHost of [false, true])
    it(`waits for no other download of a ${isTenantHost ? "tenant's" : 'managed'} store`, async () => {
      respond = (res) => void res.writeHead(200, { 'content-length': 9 }).write('a ');
      const { signal } = new AbortController();
      const url = `${storeOrigin}/${KEY}`;
      const opened = Array.from({ length: 80 }, () => downloader.open(url, { isTenantHost, signal }));
      for (const answer of await Promise.all(opened)) answer.destroy();
    });

  /** Made before the clock runs: that takes long on a busy machine. */
  const large = Buffer.alloc(64 * 1024 * 1024);
  const STILL: Record<string, (res: ServerResponse) => void> = {
    'its store sends nothing': (res) => void res.writeHead(200, { 'content-length': 9 }).write('a '),
    'its client reads nothing': (res) => {
      res.writeHead(200, { 'content-length': large.length });
      res.end(large);
    },
  };
  for (const [what, send] of Object.entries(STILL))
    it(`ends where ${what}`, async () => {
      idleMs = 1_000;
      respond = send;
      const response = await fetch(sign());
      expect(response.status).to.equal(200);
      await handling.catch(() => {});
      expect(places.used).to.equal(0);
      expect(await response.text().catch(() => 'broken')).to.equal('broken');
    });

  it('leaves its connection to the next request, which may take longer', async () => {
    idleMs = 200;
    const ports = new Set<number | undefined>();
    delay = async (res) => {
      ports.add(res.socket!.remotePort);
      if (asked.length > 0) await new Promise((resolve) => setTimeout(resolve, 600));
    };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = () =>
      new Promise<number>((resolve, reject) => {
        request(sign(), { agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode!));
        })
          .on('error', reject)
          .end();
      });
    expect([await get(), await get(), ports.size]).to.deep.equal([200, 200, 1]);
    agent.destroy();
  });

  it('reads no more from the store than its client takes', async () => {
    const chunk = Buffer.alloc(256 * 1024);
    const total = 64 * 1024 * 1024;
    let sent = 0;
    let isStalled = false;
    respond = (res) => {
      res.writeHead(200, { 'content-length': total });
      const fill = () => {
        while (sent < total && !res.destroyed) {
          sent += chunk.length;
          if (!res.write(chunk)) break;
        }
        isStalled = sent < total;
        if (sent >= total) res.end();
      };
      res.on('drain', fill);
      fill();
    };
    const left = new AbortController();
    const response = await fetch(sign(), { signal: left.signal });
    let before = -1;
    await pollUntil(
      async () => {
        const isStill = isStalled && sent === before;
        before = sent;
        return isStill;
      },
      'the store to wait',
      10_000,
      250,
    );
    expect(sent).to.be.below(total / 2);
    left.abort();
    await response.arrayBuffer().catch(() => {});
    await pollUntil(async () => places.used === 0, 'the place to be left');
  });
});
