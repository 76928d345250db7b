import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { fetchHubModel, type HubOptions } from '../../launch/own-model/hub-model.ts';
import { type ModelHub, startModelHub } from '../support/model-hub.ts';

const REPOSITORY = 'org/tiny-GGUF';
const BYTES = 300_000;
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9';

describe('a GGUF model of a hub', () => {
  let hub: ModelHub;
  let folder: string;
  let lines: string[];
  let shown: string[];

  beforeEach(async () => {
    hub = await startModelHub(REPOSITORY);
    for (const path of ['README.md', 'tiny-Q4_0.gguf', 'tiny-Q8_0.gguf'])
      hub.files.set(path, randomBytes(BYTES));
    folder = mkdtempSync(join(tmpdir(), 'berth-hub-model-'));
    [lines, shown] = [[], []];
  });
  afterEach(async () => {
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const fetchModel = (wanted: string | undefined, options: Partial<HubOptions> = {}) =>
    fetchHubModel(REPOSITORY, wanted, {
      hub: hub.url,
      token: undefined,
      folder,
      log: (line) => lines.push(line),
      onChoice: () => {},
      listAttempts: 1,
      output: { write: (text) => shown.push(text) },
      ...options,
    });
  const failure = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it succeeded',
      (error: Error) => error.message,
    );
  const isRight = (path: string) => readFileSync(path).equals(hub.files.get(basename(path))!);

  it('is downloaded without the others, and found by the next start', async () => {
    const [path] = await fetchModel('Q8_0');
    expect(isRight(path!)).to.equal(true);
    expect(await fetchModel('q8_0')).to.deep.equal([path]);
    expect(hub.downloads.map((each) => each.path)).to.deep.equal(['tiny-Q8_0.gguf']);
    expect(lines[0]).to.equal('org/tiny-GGUF: tiny-Q8_0.gguf, 0.00 GiB');
    expect(shown.at(-1)).to.match(/^downloading: 100 % /);
  });

  it('is all parts of a split one, the first of them first', async () => {
    for (const part of [2, 1]) hub.files.set(`f16/tiny-F16-0000${part}-of-00002.gguf`, randomBytes(BYTES));
    const paths = await fetchModel('F16');
    expect(paths.map((path) => basename(path))).to.deep.equal([
      'tiny-F16-00001-of-00002.gguf',
      'tiny-F16-00002-of-00002.gguf',
    ]);
    for (const path of paths) expect(readFileSync(path).length).to.equal(BYTES);
  });

  it('continues where the connection broke', async () => {
    hub.cuts = [100_000];
    const [path] = await fetchModel('Q8_0');
    expect(isRight(path!)).to.equal(true);
    // What the client has not read when the connection breaks is lost.
    expect(hub.downloads.map(({ start }) => start > 0)).to.deep.equal([false, true]);
    expect(hub.downloads[1]!.start).to.be.at.most(100_000);
  });

  it('continues where an earlier start was stopped', async () => {
    const [path] = await fetchModel('Q8_0');
    const bytes = readFileSync(path!);
    rmSync(path!);
    writeFileSync(`${path}.partial`, bytes.subarray(0, 200_000));
    expect(await fetchModel('Q8_0')).to.deep.equal([path]);
    expect(isRight(path!)).to.equal(true);
    expect(hub.downloads.at(-1)!.start).to.equal(200_000);
  });

  it('is not kept with another content than the hub has', async () => {
    hub.corrupt = (bytes) => Buffer.from(bytes).fill(0, 10, 20);
    expect(await failure(fetchModel('Q8_0'))).to.match(/does not match the checksum from its source/);
  });

  it('is downloaded again only if it changed', async () => {
    const [before] = await fetchModel('Q8_0');
    hub.files.set('README.md', randomBytes(BYTES));
    expect(await fetchModel('Q8_0')).to.deep.equal([before]);
    hub.files.set('tiny-Q8_0.gguf', randomBytes(BYTES));
    const [after] = await fetchModel('Q8_0');
    expect(after).not.to.equal(before);
    expect(isRight(after!)).to.equal(true);
  });

  it('is the one that was downloaded before while the hub cannot be reached', async () => {
    const paths = await fetchModel('Q8_0');
    expect(await fetchModel('Q8_0', { hub: NOWHERE })).to.deep.equal(paths);
    expect(lines.at(-1)).to.match(
      /^the hub could not be reached: .*; using \/.*, which was downloaded before$/,
    );
    hub.refuseWith = 503;
    expect(await fetchModel(undefined)).to.deep.equal(paths);
    expect(await failure(fetchModel('Q4_0'))).to.match(/HTTP 503/);
  });

  it('needs the network the first time, and says what to do without', async () => {
    const message = await failure(fetchModel('Q8_0', { hub: NOWHERE }));
    expect(message).to.match(
      /the hub could not be reached: \w.*\nCheck the network \(http:\/\/127\.0\.0\.1:9\)/,
    );
    expect(message).to.include('HF_ENDPOINT').and.include('MODEL=./model.gguf');
  });

  it('is downloaded with a token, which only the hub gets', async () => {
    hub.token = 'hf_secret';
    const [path] = await fetchModel('Q8_0', { token: 'hf_secret' });
    expect(isRight(path!)).to.equal(true);
    expect(hub.leaked).to.deep.equal([]);
  });

  it('tells how to get a token, and to check the name', async () => {
    hub.token = 'hf_secret';
    expect(await failure(fetchModel('Q8_0'))).to.match(/\(401\).*\nCheck the name\. For a gated.*HF_TOKEN/s);
    hub.refuseWith = 404;
    expect(await failure(fetchModel('Q8_0'))).to.match(/has no org\/tiny-GGUF \(404\)\nCheck the name/);
  });

  it('is told with the others before its download', async () => {
    const told: unknown[] = [];
    const onChoice: HubOptions['onChoice'] = ({ path }, all) =>
      told.push([path, all.length, hub.downloads.length]);
    await fetchModel('Q8_0', { onChoice });
    expect(told).to.deep.equal([['tiny-Q8_0.gguf', 2, 0]]);
  });

  it('is not downloaded if the disk is too small', async () => {
    const huge = await startHugeHub();
    try {
      expect(await failure(fetchModel('Q8_0', { hub: huge.url }))).to.match(
        /^not enough disk: 953674\.32 GiB to download, and [\d.]+ GiB free in \/.*\n.*BERTH_CACHE/,
      );
    } finally {
      huge.stop();
    }
  });

  it('is downloaded by one process at a time', async () => {
    const [path] = await fetchModel('Q8_0');
    const target = dirname(path!);
    rmSync(path!);
    let open = () => {};
    hub.gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = fetchModel('Q8_0');
    while (hub.downloads.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await failure(fetchModel('Q8_0'))).to.match(/another make run \(PID \d+\) is downloading/);
    open();
    expect(dirname((await first)[0]!)).to.equal(target);
  });
});

/** Its model has a petabyte. */
async function startHugeHub() {
  const lfs = { sha256: '0'.repeat(64), size: 1024 * 1e12, pointerSize: 136 };
  const siblings = [{ rfilename: 'a-Q8_0.gguf', size: lfs.size, blobId: '0'.repeat(40), lfs }];
  const server = createServer((_, res) => res.end(JSON.stringify({ sha: '0'.repeat(40), siblings })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}
