import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { WEIGHTS_ENV } from '../../../api/weights-cache.ts';
import { type ModelHub, startModelHub } from '../../support/model-hub.ts';
import { pollUntil } from '../../support/poll.ts';

const MAIN = join(import.meta.dirname, '../../../weights/main.ts');
const BYTES = 8 * 1024 ** 2;

describe('the loader of weights, as a program', () => {
  let hub: ModelHub;
  let folder: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    hub = await startModelHub('org/model');
    hub.files.set('model.safetensors', randomBytes(BYTES));
    folder = mkdtempSync(join(tmpdir(), 'berth-weights-'));
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (pod: string, variables: Record<string, string> = {}) => {
    const env = {
      PATH: process.env.PATH,
      [WEIGHTS_ENV.cachePath]: folder,
      [WEIGHTS_ENV.entry]: 'a',
      [WEIGHTS_ENV.repository]: 'org/model',
      [WEIGHTS_ENV.hub]: hub.url,
      [WEIGHTS_ENV.podName]: pod,
      ...variables,
    };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    let output = '';
    child.stdout!.on('data', (chunk) => {
      output += chunk;
    });
    const says = (text: string) => pollUntil(() => output.includes(text), text).then(() => output);
    const ended = once(child, 'close').then(([code]) => ({ code, output }));
    return { child, ended, says };
  };

  it('goes on after a kill in the middle of a download, and checks what was there', async () => {
    const gate = Promise.withResolvers<void>();
    hub.gate = gate.promise;
    const first = start('pod-1');
    await pollUntil(() => hub.downloads.length === 1, 'the download');
    const partial = join(folder, 'a', `partial-${hub.commit()}`, 'model.safetensors.partial');
    await pollUntil(
      async () => (await readFile(partial).catch(() => Buffer.alloc(0))).length > 0,
      'its first bytes',
    );
    first.child.kill('SIGKILL');
    await first.ended;
    gate.resolve();
    const { code, output } = await start('pod-1').ended;
    expect(code, output).to.equal(0);
    expect(output).to.contain('downloaded 0.01 GiB');
    const [, again] = hub.downloads;
    expect(again?.start).to.be.greaterThan(0);
    const bytes = await readFile(join(folder, 'a', 'current', 'model.safetensors'));
    expect(bytes.equals(hub.files.get('model.safetensors')!)).to.equal(true);
    const later = await start('pod-2').ended;
    expect(later.output).to.contain('in the cache: 0.01 GiB');
    expect(hub.downloads).to.have.length(2);
  });

  it('takes over the download of a pod that is gone', async () => {
    hub.gate = new Promise(() => {});
    const first = start('pod-1');
    const lock = join(folder, 'a', 'lock');
    await pollUntil(() => hub.downloads.length === 1, 'the download');
    first.child.kill('SIGKILL');
    await first.ended;
    hub.gate = undefined;
    const second = start('pod-2');
    await second.says('another pod is downloading');
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    const { code, output } = await second.ended;
    expect(code, output).to.equal(0);
    expect(hub.downloads).to.have.length(2);
    expect((await readdir(join(folder, 'a', 'leases'))).sort()).to.deep.equal(['pod-1', 'pod-2']);
  });

  it('ends well where a prefetch has no space, unless nothing else downloads the weights', async () => {
    const full = { [WEIGHTS_ENV.limitBytes]: '1' };
    const { code, output } = await start('', full).ended;
    expect(code, output).to.equal(0);
    expect(output).to.contain('not prefetched: the weights cache is full');
    const needed = await start('', { ...full, [WEIGHTS_ENV.isRequired]: 'true' }).ended;
    expect(needed.code, needed.output).to.equal(1);
    expect(needed.output).to.contain('the weights cache is full').and.not.to.contain('not prefetched');
  });

  it('says what is wrong in one line, and never a token', async () => {
    hub.token = 'hf_right';
    const { code, output } = await start('pod-1', { [WEIGHTS_ENV.token]: 'hf_wrong_one' }).ended;
    expect(code).to.equal(1);
    expect(output).to.contain('gated or private').and.not.to.contain('hf_wrong_one');
    const address = hub.url.replace('//', '//user:hunter2@');
    const retrying = start('pod-1', { [WEIGHTS_ENV.hub]: address });
    expect(await retrying.says('trying again')).to.not.contain('hunter2');
    retrying.child.kill('SIGKILL');
    const { output: unset } = await start('pod-1', { [WEIGHTS_ENV.repository]: '' }).ended;
    expect(unset).to.contain('exactly one of');
  });
});
