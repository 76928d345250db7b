import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InsufficientSpaceError } from '../../../weights/eviction.ts';
import { HubSource } from '../../../weights/hub-source.ts';
import { type LoadOptions, loadWeights } from '../../../weights/load.ts';
import { SourceError } from '../../../weights/source.ts';
import { type ModelHub, startModelHub } from '../../support/model-hub.ts';
import { pollUntil } from '../../support/poll.ts';

const REPOSITORY = 'org/model';
const MEBIBYTE = 1024 ** 2;

describe('weights from a hub', () => {
  let hub: ModelHub;
  let folder: string;
  let lines: string[];

  beforeEach(async () => {
    hub = await startModelHub(REPOSITORY);
    hub.files.set('config.json', Buffer.from('{"model_type":"tiny"}'));
    hub.files.set('model.safetensors', randomBytes(3 * MEBIBYTE));
    folder = mkdtempSync(join(tmpdir(), 'berth-weights-'));
    lines = [];
  });
  afterEach(async () => {
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const load = (options: Partial<LoadOptions> & { limitBytes?: number } = {}) =>
    loadWeights({
      cache: { folder, limitBytes: options.limitBytes },
      entry: 'a',
      source: new HubSource({ hub: hub.url, repository: REPOSITORY, revision: undefined, token: hub.token }),
      pod: 'pod-1',
      signal: new AbortController().signal,
      log: (line) => lines.push(line),
      ...options,
    });
  const read = (path: string, entry = 'a') => readFile(join(folder, entry, 'current', path));
  const isThere = async (entry = 'a') => {
    for (const [path, bytes] of hub.files)
      expect((await read(path, entry)).equals(bytes), path).to.equal(true);
  };
  const largeStarts = () =>
    hub.downloads.filter(({ path }) => path === 'model.safetensors').map(({ start }) => start);
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: Error) => error,
    );

  it('are downloaded once, and found by each later pod', async () => {
    expect((await load()).how).to.equal('downloaded');
    await isThere();
    const count = hub.downloads.length;
    const second = await load({ pod: 'pod-2' });
    expect([second.how, second.digest, second.bytes]).to.deep.equal([
      'cached',
      hub.commit(),
      3 * MEBIBYTE + 21,
    ]);
    expect(hub.downloads.length).to.equal(count);
    expect(await readdir(join(folder, 'a'))).to.have.members([
      'current',
      'leases',
      hub.commit(),
      `${hub.commit()}.json`,
      `${hub.commit()}.used`,
    ]);
  });

  it('are downloaded once by two pods that start together', async () => {
    const gate = Promise.withResolvers<void>();
    hub.gate = gate.promise;
    const first = load();
    await pollUntil(() => largeStarts().length === 1, 'the download');
    const second = load({ pod: 'pod-2' });
    await pollUntil(
      () => lines.some((line) => line.includes('another pod is downloading')),
      'the second pod to wait',
    );
    gate.resolve();
    expect([(await first).how, (await second).how]).to.deep.equal(['downloaded', 'awaited']);
    expect(largeStarts()).to.deep.equal([0]);
  });

  it('go on where a connection broke off', async () => {
    hub.cuts = [MEBIBYTE, MEBIBYTE];
    await load();
    await isThere();
    const [first, ...rest] = largeStarts();
    expect([first, rest.length]).to.deep.equal([0, 2]);
    for (const start of rest) expect(start).to.be.greaterThan(0);
  });

  it('are taken from another commit as soon as there is one, and the old one stays for who reads it', async () => {
    await load();
    const before = hub.commit();
    hub.files.set('config.json', Buffer.from('{"model_type":"newer"}'));
    await load({ pod: 'pod-2' });
    await isThere();
    expect(hub.commit()).to.not.equal(before);
    expect((await readFile(join(folder, 'a', before, 'config.json'))).toString()).to.contain('tiny');
  });

  it('are never accepted with wrong bytes', async () => {
    hub.corrupt = (bytes) => Buffer.from(bytes.map((byte, index) => (index === 5 ? byte ^ 1 : byte)));
    const error = await failure(load());
    expect(error).to.be.instanceOf(SourceError);
    expect(error?.message).to.contain('does not match the checksum');
    expect(await failure(read('config.json'))).to.be.instanceOf(Error);
    hub.corrupt = undefined;
    await load();
    await isThere();
  });

  it('are downloaded again where a file of the cache was cut short', async () => {
    await load();
    await truncate(join(folder, 'a', hub.commit(), 'model.safetensors'), 5);
    expect((await load({ pod: 'pod-2' })).how).to.equal('downloaded');
    await isThere();
  });

  it('need the token of a private repository, which no other host is given', async () => {
    hub.token = 'hf_secret';
    await load();
    await isThere();
    expect(hub.leaked).to.deep.equal([]);
    const source = new HubSource({
      hub: hub.url,
      repository: REPOSITORY,
      revision: 'main',
      token: 'hf_wrong',
    });
    const error = await failure(load({ source, entry: 'b' }));
    expect(error?.message).to.contain('gated or private');
    // Users who have lost access do not get cached files.
    expect(await failure(load({ source }))).to.be.instanceOf(SourceError);
  });

  it('are used as they are while the hub is away', async () => {
    await load();
    hub.refuseWith = 503;
    const clock = {
      now: () => 0,
      date: () => new Date(),
      after: (_: number, run: () => void) => {
        queueMicrotask(run);
        return () => {};
      },
    };
    const { how, unasked } = await load({ pod: 'pod-2', clock });
    expect([how, unasked]).to.deep.equal(['cached', 'the hub returned HTTP 503']);
    expect(await failure(load({ entry: 'b', clock }))).to.be.instanceOf(SourceError);
  });

  it('go by age where room is needed, and never those that a pod reads', async () => {
    const limitBytes = 7 * MEBIBYTE;
    await load({ limitBytes, entry: 'old', pod: 'reader' });
    await load({ limitBytes, entry: 'idle', pod: 'gone' });
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(folder, 'idle', 'leases', 'gone'), longAgo, longAgo);
    await utimes(join(folder, 'old', `${hub.commit()}.used`), longAgo, longAgo);
    await load({ limitBytes, entry: 'new', pod: 'pod-3' });
    await isThere('new');
    await isThere('old');
    expect(await readdir(folder)).to.have.members(['old', 'new']);
    const error = await failure(load({ limitBytes, entry: 'more', pod: 'pod-4' }));
    expect(error).to.be.instanceOf(InsufficientSpaceError);
    expect(error?.message).to.contain('all other models in the cache are in use');
  });

  it('are prefetched for nobody yet, and evict nothing for that', async () => {
    const limitBytes = 4 * MEBIBYTE;
    expect((await load({ limitBytes, pod: undefined })).how).to.equal('downloaded');
    expect(await failure(load({ limitBytes, entry: 'b', pod: undefined }))).to.be.instanceOf(
      InsufficientSpaceError,
    );
    await isThere();
    expect((await load({ limitBytes })).how).to.equal('cached');
    await rm(join(folder, 'a', 'leases', 'pod-1'));
    await load({ limitBytes, entry: 'b' });
    expect(await readdir(folder)).to.deep.equal(['b']);
  });

  it('leave no place for a file outside their folder', async () => {
    for (const path of ['../../evil', '/evil', 'a/../../evil', 'a//b', 'a\\b']) {
      hub.files.set(path, Buffer.from('evil'));
      expect((await failure(load()))?.message, path).to.contain('cannot be stored');
      hub.files.delete(path);
    }
    await writeFile(join(folder, 'evil'), 'untouched');
  });
});
