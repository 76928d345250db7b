import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { S3Store, type S3StoreOptions } from '../../../gateway/storage/s3-store.ts';
import { StorageError } from '../../../gateway/storage/storage-error.ts';
import { startHttpServer, startSocketServer } from '../../support/loopback-server.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { putObject } from '../../support/store-objects.ts';
import { BUCKET, s3Options } from './stores.ts';

const KEY = 'results/team-a/req_1/1/0.png';
const LOOPBACK: EgressAgentOptions = { allow: ['127.0.0.0/8', '::1/128'], deny: [], plainHTTP: true };
const PUBLIC: EgressAgentOptions = { allow: [], deny: [], plainHTTP: false };
const VIRTUAL_DOMAIN = 's3.localhost';

async function verify(options: S3StoreOptions): Promise<StorageError | null> {
  let store: S3Store | null = null;
  try {
    store = new S3Store(options);
    await store.verify();
    return null;
  } catch (error) {
    return error as StorageError;
  } finally {
    store?.close();
  }
}

describe('a bucket of S3', () => {
  let server: S3Server;
  let user: { accessKeyId: string; secretAccessKey: string };
  before(async function () {
    this.timeout(600_000);
    server = await startS3({ virtualDomain: VIRTUAL_DOMAIN });
    server.createBucket(BUCKET);
    user = server.createUser();
  });
  after(() => server?.stop());

  describe('is reported as not verified', () => {
    const cases: [string, (own: S3StoreOptions) => Partial<S3StoreOptions>, string, RegExp][] = [
      ['it does not exist', () => ({ bucket: 'no-such-bucket' }), 'bucket', /does not exist/],
      ['its name is none', () => ({ bucket: 'evil.test/x@' }), 'bucket', /does not exist/],
      [
        'the access key is unknown',
        ({ keys }) => ({ keys: { ...keys, accessKeyId: 'NOBODY' } }),
        'credentials',
        /access key is unknown/,
      ],
      [
        'the secret is wrong',
        ({ keys }) => ({ keys: { ...keys, secretAccessKey: 'wrong' } }),
        'credentials',
        /secret is wrong/,
      ],
      ['the keys give no access', () => ({ keys: user }), 'denied', /access denied/],
      ['the region is another one', () => ({ region: 'eu-west-1' }), 'region', /another region/],
      ['nothing listens', () => ({ endpoint: 'http://127.0.0.1:1' }), 'unreachable', /cannot be reached/],
      [
        'the endpoint of a tenant is private',
        ({ endpoint }) => ({ endpoint: endpoint!.replace('http:', 'https:'), egress: PUBLIC }),
        'address',
        /not allowed.*https.*public/,
      ],
      [
        'the endpoint of a tenant is private by its name',
        () => ({ endpoint: `https://${VIRTUAL_DOMAIN}:${server.port}`, egress: PUBLIC }),
        'address',
        /not allowed/,
      ],
      ['the endpoint of a tenant is plain http', () => ({ egress: PUBLIC }), 'address', /https:/],
      [
        'the endpoint of a tenant speaks no TLS',
        ({ endpoint }) => ({ endpoint: endpoint!.replace('http:', 'https:'), egress: LOOPBACK }),
        'certificate',
        /TLS/,
      ],
    ];
    for (const [why, change, reason, words] of cases)
      it(`as ${why}`, async () => {
        const own = s3Options(server);
        const error = await verify({ ...own, ...change(own) });
        expect(error).to.be.instanceOf(StorageError);
        expect(error!.message).to.match(words);
        expect(error!.reason).to.equal(reason);
      });

    it('as the store does not answer in time', async () => {
      server.pause();
      try {
        const error = await verify({ ...s3Options(server), answerTimeoutMs: 200 });
        expect(error?.reason).to.equal('slow');
      } finally {
        server.resume();
      }
    });
  });

  describe('of a tenant with a malicious server', () => {
    const answers: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
      'an error without end': (_request, response) => flood(response.writeHead(400)),
      'a success without end': (_request, response) => flood(response.writeHead(200)),
      'an object without end': (request, response) => {
        response.writeHead(200);
        if (request.method === 'GET') flood(response);
        else response.end();
      },
      'an object that breaks off': (request, response) => {
        if (request.method !== 'GET') response.end();
        else response.writeHead(200, { 'content-length': 10 }).write('x', () => request.socket.destroy());
      },
      'another object': (_request, response) => response.end('something else'),
    };
    for (const [what, answer] of Object.entries(answers))
      it(`costs little by ${what}`, async () => {
        let sent = 0;
        const harmful = await startHttpServer((request, response) => {
          request.socket.once('close', () => {
            sent += request.socket.bytesWritten;
          });
          answer(request.resume(), response);
        });
        const endpoint = `http://127.0.0.1:${harmful.port}`;
        const error = await verify({ ...s3Options(server), endpoint, egress: LOOPBACK });
        expect(error).to.be.instanceOf(StorageError);
        await harmful.stop();
        expect(sent).to.be.below(32 * 1024 * 1024);
      });
  });

  for (const [method, call] of Object.entries({ PUT: 'PutObject', GET: 'GetObject', DELETE: 'DeleteObject' }))
    it(`is refused where its store does not implement ${call}, which the message names`, async () => {
      const objects = new Map<string, Buffer>();
      const poor = await startHttpServer(async (request, response) => {
        const { pathname } = new URL(request.url!, 'http://store');
        const isList = request.url!.includes('list-type=2');
        if (isList || request.method === method) {
          response.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>');
          return;
        }
        if (request.method === 'PUT') objects.set(pathname, await buffer(request));
        response.end(request.method === 'GET' ? objects.get(pathname) : '');
      });
      const endpoint = `http://127.0.0.1:${poor.port}`;
      const error = await verify({ ...s3Options(server), endpoint, egress: LOOPBACK });
      expect(error?.reason).to.equal('unsupported');
      expect(error?.message).to.match(new RegExp(`does not implement a request that is needed: ${call}$`));
      await poor.stop();
    });

  it('is never dialed at a private address that a tenant names', async () => {
    const heard = await startSocketServer((socket) => socket.end());
    for (const host of ['127.0.0.1', 'store.localhost', '[::ffff:127.0.0.1]', '2130706433'])
      await verify({ ...s3Options(server), endpoint: `https://${host}:${heard.port}`, egress: PUBLIC });
    expect(heard.connections).to.equal(0);
    await verify({ ...s3Options(server), endpoint: `https://127.0.0.1:${heard.port}`, egress: LOOPBACK });
    expect(heard.connections).to.be.above(0);
    await heard.stop();
  });

  it('is reached by a tenant at an address that the operator allows', async () => {
    expect(await verify({ ...s3Options(server), egress: LOOPBACK })).to.equal(null);
  });

  it('is addressed by its host where the store wants that', async () => {
    const endpoint = `http://${VIRTUAL_DOMAIN}:${server.port}`;
    const store = new S3Store({ ...s3Options(server), endpoint, pathStyle: false, egress: LOOPBACK });
    await store.verify();
    const byPath = new S3Store(s3Options(server));
    await putObject(byPath, KEY, Buffer.from('by host'), 'text/plain');
    byPath.close();
    const link = new URL(await store.signGet({ key: KEY, expiresInSeconds: 60 }));
    expect(link.host).to.equal(`${BUCKET}.${VIRTUAL_DOMAIN}:${server.port}`);
    expect(await getFrom(server.port, link)).to.deep.equal({ status: 200, body: 'by host' });
    const grant = { key: KEY, contentType: 'text/plain', contentLength: 1, expiresInSeconds: 60 };
    expect((await store.signPut(grant)).isTenantHost).to.equal(true);
    await store.delete(KEY);
    store.close();
  });

  it('gives clients links to its public endpoint, and sidecars to its own', async () => {
    // The same server by another name: a signature holds for one host only.
    const publicEndpoint = `http://localhost:${server.port}`;
    const store = new S3Store({ ...s3Options(server), publicEndpoint });
    await putObject(store, KEY, Buffer.from('x'), 'text/plain');
    const grant = { key: KEY, expiresInSeconds: 60 };
    const link = new URL(await store.signGet(grant));
    expect(link.origin).to.equal(publicEndpoint);
    expect(await getFrom(server.port, link)).to.deep.equal({ status: 200, body: 'x' });
    expect(new URL(await store.signGet({ ...grant, isInternal: true })).origin).to.equal(server.endpoint);
    const { url } = await store.signPut({ ...grant, contentType: 'text/plain', contentLength: 1 });
    expect(new URL(url).origin).to.equal(server.endpoint);
    await store.delete(KEY);
    store.close();
  });

  it('signs links for 7 days with static keys, and for no longer', async () => {
    const store = new S3Store(s3Options(server));
    const link = new URL(await store.signGet({ key: KEY, expiresInSeconds: 7 * 24 * 3_600 }));
    expect(link.searchParams.get('X-Amz-Expires')).to.equal('604800');
    expect(link.searchParams.has('X-Amz-Security-Token')).to.equal(false);
    const longer = store.signGet({ key: KEY, expiresInSeconds: 7 * 24 * 3_600 + 1 });
    expect(await longer.catch((error) => error)).to.be.instanceOf(Error);
    store.close();
  });

  it('of AWS is addressed by its virtual host in its region', async () => {
    const options = { ...s3Options(server), endpoint: null, region: 'eu-west-1', pathStyle: false };
    const store = new S3Store({ ...options, egress: PUBLIC });
    const link = new URL(await store.signGet({ key: KEY, expiresInSeconds: 60 }));
    expect(link.origin).to.equal(`https://${BUCKET}.s3.eu-west-1.amazonaws.com`);
    store.close();
  });
});

/** As much as the other end takes. */
function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(256 * 1024, ' ');
  const write = () => {
    while (!response.destroyed && response.write(chunk));
    response.once('drain', write);
  };
  response.on('error', () => {});
  write();
}

/** What a client gets whose DNS knows the link's host. */
function getFrom(port: number, link: URL): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const path = link.pathname + link.search;
    request({ host: '127.0.0.1', port, path, headers: { host: link.host } }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode!, body }), reject);
    })
      .once('error', reject)
      .end();
  });
}
