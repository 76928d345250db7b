import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findPlace } from '../../../cli/framework/target.ts';
import { listOwnRun, unlistOwnRun } from '../../../launch/own-runs.ts';
import { type ProcessLock, tryProcessLock } from '../../../machine/process-lock.ts';

describe('the make run that berth finds', () => {
  let root: string;
  let inner: string;
  let cache: string;
  const locks: ProcessLock[] = [];
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-target-'));
    inner = join(root, 'project', 'source');
    cache = join(root, 'cache');
    mkdirSync(inner, { recursive: true });
  });
  afterEach(() => {
    for (const lock of locks.splice(0)) lock.release();
    rmSync(root, { recursive: true });
  });

  const find = (options = {}, variables = {}) => findPlace(options, inner, variables, cache);
  const write = (folder: string, endpoints: object = {}) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, 'endpoints.json'), JSON.stringify(endpoints), { mode: 0o600 });
    return folder;
  };
  const hold = (folder: string) => {
    const lock = tryProcessLock(join(folder, 'run.lock'), 'mocha');
    if ('release' in lock) locks.push(lock);
  };
  const run = (folder: string, endpoints: object = {}) => {
    write(folder, endpoints);
    listOwnRun(folder, cache);
    hold(folder);
    return folder;
  };
  const FOREIGN = /is not of a make run or make cluster that you started/;
  const CLUSTER = { kind: 'cluster', source: {} };

  it('is the nearest of this user, here or above', () => {
    const outer = run(join(root, '.berth'));
    mkdirSync(join(root, 'project', '.berth'), { mode: 0o700 });
    expect(find()).to.deep.equal({ kind: 'run', folder: outer, endpoints: {} });
    const nearest = run(join(root, 'project', '.berth'));
    expect(find()).to.have.property('folder', nearest);
  });

  it('is none that this user did not start, whatever its file says', () => {
    const exec = ['/bin/sh', '-c', 'touch /tmp/run-by-somebody-else'];
    const cluster = { kubeconfig: 'k', exec };
    const folder = write(join(root, 'project', '.berth'), { mode: 'cluster', cluster });
    expect(() => find()).to.throw(FOREIGN);
    expect(() => find({ folder })).to.throw(FOREIGN);
    expect(() => find({}, { BERTH_STATE: folder })).to.throw(FOREIGN);
    expect(find({ context: 'prod' })).to.have.property('kind', 'cluster');
    listOwnRun(folder, cache);
    expect(find()).to.have.property('kind', 'made');
    unlistOwnRun(folder, cache);
    expect(() => find()).to.throw(FOREIGN);
    rmSync(folder, { recursive: true });
    const other = write(join(root, 'other'));
    expect(() => find({}, { KUBECONFIG: join(other, 'kubeconfig') })).to.throw(FOREIGN);
  });

  it('is none that was killed: somebody else may have its port', () => {
    const folder = write(join(root, 'project', '.berth'));
    listOwnRun(folder, cache);
    expect(() => find()).to.throw('has ended: start it again');
  });

  it('is none that others can read or write', () => {
    const folder = run(join(root, 'project', '.berth'));
    chmodSync(folder, 0o755);
    expect(() => find()).to.throw(FOREIGN);
    chmodSync(folder, 0o700);
    chmodSync(join(folder, 'endpoints.json'), 0o644);
    expect(() => find()).to.throw(FOREIGN);
  });

  it('is also found by a link, not by one to the folder of others', () => {
    const folder = run(join(root, 'elsewhere'));
    symlinkSync(folder, join(root, 'project', '.berth'));
    expect(find()).to.deep.include({ kind: 'run', folder });
    rmSync(join(root, 'project', '.berth'));
    symlinkSync(write(join(root, 'others')), join(root, 'project', '.berth'));
    expect(() => find()).to.throw(FOREIGN);
  });

  it('is waited for while it starts: the cluster of the kubeconfig is not taken instead', () => {
    const folder = join(root, 'project', '.berth');
    mkdirSync(folder, { mode: 0o700 });
    listOwnRun(folder, cache);
    expect(find()).to.deep.equal(CLUSTER);
    hold(folder);
    expect(() => find()).to.throw('make run is starting in');
    expect(() => find({ folder })).to.throw('make run is starting in');
  });

  it('is the one that is named, which has to run', () => {
    write(join(inner, 'state'));
    expect(find({ folder: 'state' }, { BERTH_STATE: 'other' })).to.have.property(
      'folder',
      join(inner, 'state'),
    );
    expect(() => find({}, { BERTH_STATE: 'other' })).to.throw('nothing is running in');
    expect(() => find({ folder: 'other' })).to.throw('start make run or make cluster first');
    expect(() => find({ folder: 'state', context: 'prod' })).to.throw('give either it, or');
  });

  it('is that of the kubeconfig, if there is none above', () => {
    const folder = run(join(root, 'elsewhere'));
    expect(find({}, { KUBECONFIG: join(folder, 'kubeconfig') })).to.have.property('folder', folder);
    expect(find({}, { KUBECONFIG: join(root, 'config') })).to.deep.equal(CLUSTER);
    expect(find({ kubeconfig: 'k', context: 'prod' })).to.deep.equal({
      kind: 'cluster',
      source: { file: 'k', context: 'prod' },
    });
  });
});
