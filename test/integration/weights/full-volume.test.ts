import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InsufficientSpaceError } from '../../../weights/eviction.ts';
import { HubSource } from '../../../weights/hub-source.ts';
import { loadWeights } from '../../../weights/load.ts';
import { type ModelHub, startModelHub } from '../../support/model-hub.ts';
import { pollUntil } from '../../support/poll.ts';

const MEBIBYTE = 1024 ** 2;
const REPOSITORY = 'org/model';

describe('weights on a volume that is full', () => {
  let hub: ModelHub;
  let folder: string;
  const lines: string[] = [];

  before(function () {
    folder = mkdtempSync(join(tmpdir(), 'berth-volume-'));
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder]);
    // Only root may mount.
    if (mount.status !== 0) this.skip();
  });
  after(() => {
    spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    hub = await startModelHub(REPOSITORY);
    hub.files.set('model.safetensors', randomBytes(20 * MEBIBYTE));
    lines.length = 0;
  });
  afterEach(() => hub.stop());

  const load = (entry: string, pod: string) =>
    loadWeights({
      cache: { folder, limitBytes: undefined },
      entry,
      source: new HubSource({ hub: hub.url, repository: REPOSITORY, revision: undefined, token: undefined }),
      pod,
      signal: new AbortController().signal,
      log: (line) => lines.push(line),
    });

  it('make room for themselves, also where another program filled it in the middle of a download', async () => {
    await load('old', 'gone');
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(folder, 'old', 'leases', 'gone'), longAgo, longAgo);
    const gate = Promise.withResolvers<void>();
    hub.gate = gate.promise;
    const loading = load('new', 'pod');
    await pollUntil(() => hub.downloads.length === 2, 'the download');
    await writeFile(join(folder, '.filler'), randomBytes(26 * MEBIBYTE));
    gate.resolve();
    hub.gate = undefined;
    expect((await loading).how).to.equal('downloaded');
    expect(lines.join('\n')).to.contain('the volume became full').and.to.contain('evicted');
    const bytes = await readFile(join(folder, 'new', 'current', 'model.safetensors'));
    expect(bytes.equals(hub.files.get('model.safetensors')!)).to.equal(true);
  });

  it('say so where nothing may go', async () => {
    const error = await load('more', 'pod').then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).to.be.instanceOf(InsufficientSpaceError);
    expect(error?.message).to.match(/the weights cache is full: .* all other models in the cache are in use/);
  });
});
