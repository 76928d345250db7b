import dns, { type LookupOptions } from 'node:dns';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { expect } from 'chai';
import { downloadFile } from '../../../weights/download.ts';
import { S3Source } from '../../../weights/s3-source.ts';
import type { SourceError } from '../../../weights/source.ts';
import { type LoopbackServer, startHttpServer } from '../../support/loopback-server.ts';

const KEYS = { accessKeyId: 'KEY', secretAccessKey: 'secret' };
const TEXT = 'GGUF and the rest';
const ETAG = '"0123456789abcdef0123456789abcdef-2"';
const LIST = `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>models</Name><IsTruncated>false</IsTruncated>
<Contents><Key>a/model.gguf</Key><Size>${TEXT.length}</Size><ETag>${ETAG}</ETag></Contents></ListBucketResult>`;

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const refuse =
  (status: number, code: string): Answer =>
  (response) =>
    response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
const listAll: Answer = (response) => response.end(LIST);
const sendAll: Answer = (response) => response.writeHead(200, { etag: ETAG }).end(TEXT);

function lookUpLoopback(
  _host: string,
  options: LookupOptions,
  callback: (...found: unknown[]) => void,
): void {
  if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
}

describe('weights from a store of S3 that', () => {
  const signal = new AbortController().signal;
  let server: LoopbackServer;
  let asked: IncomingMessage[];
  let folder: string;
  /** By the call; a list's answers are given in turn. */
  let answers: Record<'list' | 'head' | 'get', Answer[]>;
  beforeEach(async () => {
    asked = [];
    answers = { list: [listAll], head: [refuse(404, '')], get: [sendAll] };
    folder = mkdtempSync(join(tmpdir(), 'berth-weights-'));
    server = await startHttpServer((request, response) => {
      asked.push(request);
      const isList = request.url!.includes('list-type=2');
      const queue = answers[isList ? 'list' : request.method === 'HEAD' ? 'head' : 'get'];
      const answer = queue.length > 1 ? queue.shift()! : queue[0]!;
      answer(response, request);
    });
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await server.stop();
  });

  const open = ({ keys = KEYS, domain }: { keys?: typeof KEYS | 'none'; domain?: string } = {}) =>
    new S3Source({
      uri: 's3://models/a',
      endpoint: `http://${domain ?? '127.0.0.1'}:${server.port}`,
      region: 'us-east-1',
      pathStyle: domain === undefined,
      keys: keys === 'none' ? undefined : keys,
      workloadIdentity: false,
    });
  const failureOf = (work: Promise<unknown>): Promise<SourceError> =>
    work.then(
      () => expect.fail('nothing failed'),
      (error) => error,
    );
  const headCount = () => asked.filter(({ method }) => method === 'HEAD').length;

  it('has no calls for parts are loaded without a checksum', async () => {
    answers.head = [refuse(501, 'NotImplemented')];
    const source = open();
    const manifest = await source.list(signal);
    await source.findChecksums(manifest, signal);
    expect(manifest.files[0]?.checksum).to.equal(null);
    expect(headCount()).to.equal(1);
  });

  it('asks to slow down are asked again for their checksums', async () => {
    const head: Answer = (response) => response.writeHead(206, { etag: ETAG, 'content-length': 9 }).end();
    answers.head = [refuse(503, 'SlowDown'), refuse(429, 'TooManyRequests'), head];
    const source = open();
    const manifest = await source.list(signal);
    await source.findChecksums(manifest, signal);
    expect(manifest.files[0]?.checksum).to.include({ kind: 'md5-of-parts', partBytes: 9 });
  });

  it('does not implement what is needed are not asked for again, and the message names the call', async () => {
    answers.get = [refuse(501, 'NotImplemented')];
    const source = open();
    const [file] = (await source.list(signal)).files;
    const options = { source, signal, onBytes: () => {} };
    const download = failureOf(downloadFile(join(folder, 'model.gguf'), file!, options));
    expect(await download).to.include({
      isTransient: false,
      message: 'the bucket of s3://models/a answered 501: its store does not implement GetObject',
    });
    answers.list = [refuse(501, 'NotImplemented')];
    const list = await failureOf(source.list(signal));
    expect(list).to.include({ isTransient: false });
    expect(list.message).to.contain('ListObjectsV2');
  });

  it('has the bucket in another region are refused at once', async () => {
    answers.list = [refuse(301, 'PermanentRedirect')];
    const error = await failureOf(open().list(signal));
    expect(error).to.include({ isTransient: false });
    expect(error.message).to.contain('region');
  });

  it('takes buckets by path only, or by host only, are refused with the setting to change', async () => {
    answers.list = [refuse(403, 'PathStyleDomainForbidden')];
    expect((await failureOf(open().list(signal))).message).to.match(/set pathStyle: false$/);
    answers.list = [
      (response) => response.end('<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>'),
    ];
    const hosts = mock.method(dns, 'lookup', lookUpLoopback);
    try {
      const error = await failureOf(open({ domain: 'store.test' }).list(signal));
      expect(error).to.include({ isTransient: false });
      expect(error.message).to.match(/set pathStyle: true$/);
      expect(asked.at(-1)!.headers.host).to.match(/^models\.store\.test:/);
    } finally {
      hosts.mock.restore();
    }
  });

  it('ignores ranges are continued right all the same', async () => {
    writeFileSync(join(folder, 'model.gguf.partial'), TEXT.slice(0, 9));
    const source = open();
    const [file] = (await source.list(signal)).files;
    await downloadFile(join(folder, 'model.gguf'), file!, { source, signal, onBytes: () => {} });
    expect(readFileSync(join(folder, 'model.gguf'), 'utf8')).to.equal(TEXT);
    expect(asked.at(-1)!.headers.range).to.equal('bytes=9-');
  });

  it('may refuse any header are asked without checksums, and without keys unsigned', async () => {
    for (const isSigned of [true, false]) {
      asked.length = 0;
      const source = isSigned ? open() : open({ keys: 'none' });
      const manifest = await source.list(signal);
      await source.findChecksums(manifest, signal);
      for await (const _ of await source.read(manifest.files[0]!, 0, signal));
      expect(asked).to.have.length(3);
      for (const { headers } of asked) {
        expect(Object.keys(headers).filter((header) => header.includes('checksum'))).to.deep.equal([]);
        expect('authorization' in headers).to.equal(isSigned);
      }
    }
  });
});
