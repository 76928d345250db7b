import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { FolderServer } from '../../../gateway/storage/folder-server.ts';
import { FolderStore } from '../../../gateway/storage/folder-store.ts';
import { ObjectFolder } from '../../../gateway/storage/object-folder.ts';
import { pollUntil } from '../../support/poll.ts';
import { headObject, putObject, readText } from '../../support/store-objects.ts';

const BUCKET = 'local';
const KEY = 'results/team-a/req_1/1/0.txt';
const LINK = { key: KEY, expiresInSeconds: 60 };
const HELLO = Buffer.from('hello, world');

describe('the server of a folder’s links', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-folder-'));
  const folder = join(root, 'store');
  const objects = new ObjectFolder(folder);
  const secret = randomBytes(32);
  let server: FolderServer;
  let store: FolderStore;
  const open = (sign: Buffer) =>
    new FolderStore({ objects, bucket: BUCKET, origin: `http://127.0.0.1:${server.port}`, secret: sign });
  before(async () => {
    server = await FolderServer.start({ objects, bucket: BUCKET, secret, host: '127.0.0.1', port: 0 });
    store = open(secret);
    writeFileSync(join(root, 'secret.txt'), 'secret');
  });
  after(async () => {
    await server.close();
    rmSync(root, { recursive: true });
  });
  beforeEach(() => putObject(store, KEY, HELLO, 'text/plain'));
  const partial = () => readdirSync(join(folder, 'partial'));
  const read = async () => readText(store, KEY);

  it('returns for HEAD all but the content', async () => {
    const answer = await fetch(await store.signGet({ ...LINK, fileName: 'a.txt' }), { method: 'HEAD' });
    expect(answer.status).to.equal(200);
    expect(Object.fromEntries(answer.headers)).to.include({
      'content-length': String(HELLO.length),
      'content-type': 'text/plain',
      'content-disposition': 'attachment; filename="a.txt"',
      'accept-ranges': 'bytes',
    });
    expect(await answer.text()).to.equal('');
  });

  it('lets nothing that a model made run as a page', async () => {
    await putObject(store, KEY, Buffer.from('<script>'), 'text/html');
    const { headers } = await fetch(await store.signGet(LINK));
    expect(headers.get('content-security-policy')).to.match(/default-src 'none';.*sandbox/);
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
  });

  it('gives the whole where a part is asked of another version', async () => {
    const link = await store.signGet(LINK);
    const etag = (await fetch(link)).headers.get('etag')!;
    const ask = async (version: string) =>
      (await fetch(link, { headers: { range: 'bytes=0-1', 'if-range': version } })).status;
    expect(await ask(etag)).to.equal(206);
    expect(await ask('"other"')).to.equal(200);
  });

  it('says as S3 does why it refuses', async () => {
    const answer = await fetch((await store.signGet(LINK)).replace('0.txt', '1.txt'));
    expect(answer.headers.get('content-type')).to.equal('application/xml');
    expect(await answer.text()).to.match(/<Code>SignatureDoesNotMatch<\/Code><Message>.+<\/Message>/);
  });

  it('follows no link that another secret signed', async () => {
    expect((await fetch(await open(randomBytes(32)).signGet(LINK))).status).to.equal(403);
  });

  it('follows links after a restart', async () => {
    const link = await store.signGet(LINK);
    await server.close();
    server = await FolderServer.start({ objects, bucket: BUCKET, secret, host: '127.0.0.1', port: 0 });
    store = open(secret);
    const { pathname, search } = new URL(link);
    const answer = await fetch(`http://127.0.0.1:${server.port}${pathname}${search}`);
    expect(await answer.text()).to.equal(HELLO.toString());
  });

  it('takes no other methods', async () => {
    for (const method of ['POST', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await fetch(await store.signGet(LINK), { method })).status, method).to.equal(405);
  });

  const paths = [
    '/',
    '/local/',
    '/local/../secret.txt',
    '/local/%2e%2e/%2e%2e/secret.txt',
    '/local/..%2f..%2fsecret.txt',
    '/../../../../etc/passwd',
    '//etc/passwd',
    '/local/a\\..\\..\\secret.txt',
    'http://elsewhere.test/local/x',
    '/local/x?signature=%ff%00',
    '/local/x?expires=NaN&signature=',
  ];
  for (const path of paths)
    it(`gives nothing for ${path}`, async () => {
      const answer = await askRaw(
        server.port,
        `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      expect(answer).to.match(/^HTTP\/1\.1 40[03] /);
      expect(answer).not.to.match(/secret$|root:/);
    });

  describe('for an upload', () => {
    const bytes = 4 * 1024 * 1024;
    const sign = (contentLength: number) =>
      store.signPut({ ...LINK, contentType: 'text/plain', contentLength });

    it('requires its length', async () => {
      const { url } = await sign(5);
      const { pathname, search } = new URL(url);
      const head = `PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\nconnection: close\r\n`;
      const answer = await askRaw(
        server.port,
        `${head}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      );
      expect(answer).to.match(/^HTTP\/1\.1 411 /);
      expect(await read()).to.equal(HELLO.toString());
    });

    it('refuses before a byte is sent where the client asks first', async () => {
      const { url, headers } = await sign(bytes);
      let isWelcome = false;
      const status = await new Promise<number>((resolve, reject) => {
        const put = request(url.replace('0.txt', '1.txt'), {
          method: 'PUT',
          headers: { ...headers, expect: '100-continue' },
        });
        put.once('continue', () => {
          isWelcome = true;
        });
        put.once('response', (response) => {
          resolve(response.statusCode!);
          put.destroy();
        });
        put.on('error', reject).flushHeaders();
      });
      expect({ status, isWelcome }).to.deep.equal({ status: 403, isWelcome: false });
    });

    it('keeps the former object and nothing else where the client breaks off', async () => {
      const { url, headers } = await store.signPut({
        ...LINK,
        contentType: 'image/png',
        contentLength: bytes,
      });
      const put = request(url, { method: 'PUT', headers }).on('error', () => {});
      put.write(Buffer.alloc(bytes / 2));
      await pollUntil(() => partial().length === 1);
      put.destroy();
      await pollUntil(() => partial().length === 0);
      expect(await read()).to.equal(HELLO.toString());
      expect(await headObject(store, KEY)).to.deep.equal({
        contentType: 'text/plain',
        contentLength: HELLO.length,
      });
    });

    it('keeps one of two at once, whole', async () => {
      const { url, headers } = await sign(bytes);
      const bodies = [Buffer.alloc(bytes, 'a'), Buffer.alloc(bytes, 'b')];
      await Promise.all(
        bodies.map(async (body) => {
          const answer = await fetch(url, {
            method: 'PUT',
            headers: { 'content-type': headers['content-type']! },
            body,
          });
          expect(answer.status).to.equal(200);
        }),
      );
      expect(await read()).to.match(/^(a{4194304}|b{4194304})$/);
    });
  });

  it('removes what a crash left half written', async () => {
    writeFileSync(join(folder, 'partial', 'left'), 'half');
    await objects.tidy();
    expect(existsSync(join(folder, 'partial', 'left'))).to.equal(false);
    await putObject(store, KEY, HELLO, 'text/plain');
    expect(await read()).to.equal(HELLO.toString());
  });

  it('keeps no empty folders, and loses nothing while they go', async () => {
    await store.delete(KEY);
    const names = Array.from({ length: 200 }, (_, index) => `race/${index % 3}/${index}.txt`);
    await Promise.all(
      names.map(async (key) => {
        await putObject(store, key, HELLO, 'text/plain');
        expect((await headObject(store, key))?.contentLength).to.equal(HELLO.length);
        await store.delete(key);
      }),
    );
    expect(readdirSync(join(folder, 'objects'))).to.deep.equal([]);
    expect(readdirSync(join(folder, 'types'))).to.deep.equal([]);
  });
});

function askRaw(port: number, words: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(words);
  return text(socket);
}
