import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findPlace } from '../../../cli/framework/target.ts';
import { listOwnRun, unlistOwnRun } from '../../../launch/own-runs.ts';
import { tryProcessLock } from '../../../machine/process-lock.ts';

describe('the make run that berth finds', () => {
  let root: string;
  let inner: string;
  let cache: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-target-'));
    inner = join(root, 'project', 'source');
    cache = join(root, 'cache');
    mkdirSync(inner, { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const find = (options = {}, variables = {}) => findPlace(options, inner, variables, cache);
  const write = (folder: string, endpoints: object = {}) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, 'endpoints.json'), JSON.stringify(endpoints), { mode: 0o600 });
    return folder;
  };
  const run = (folder: string, endpoints: object = {}) => {
    write(folder, endpoints);
    listOwnRun(folder, cache);
    return folder;
  };
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
    const folder = write(join(root, 'project', '.berth'), { cluster: { kubeconfig: 'k', exec } });
    expect(find()).to.deep.equal(CLUSTER);
    expect(find({}, { KUBECONFIG: join(folder, 'kubeconfig') })).to.deep.equal(CLUSTER);
    listOwnRun(folder, cache);
    expect(find()).to.have.property('kind', 'made');
    unlistOwnRun(folder, cache);
    expect(find()).to.deep.equal(CLUSTER);
  });

  it('is none that others can read or write', () => {
    const folder = run(join(root, 'project', '.berth'));
    chmodSync(folder, 0o755);
    expect(find()).to.deep.equal(CLUSTER);
    chmodSync(folder, 0o700);
    chmodSync(join(folder, 'endpoints.json'), 0o644);
    expect(find()).to.deep.equal(CLUSTER);
  });

  it('is also found by a link, not by one to the folder of others', () => {
    const folder = run(join(root, 'elsewhere'));
    symlinkSync(folder, join(root, 'project', '.berth'));
    expect(find()).to.have.property('kind', 'run');
    rmSync(join(root, 'project', '.berth'));
    symlinkSync(write(join(root, 'others')), join(root, 'project', '.berth'));
    expect(find()).to.deep.equal(CLUSTER);
  });

  it('is waited for while it starts: the cluster of the kubeconfig is not taken instead', () => {
    const folder = join(root, 'project', '.berth');
    mkdirSync(folder, { mode: 0o700 });
    listOwnRun(folder, cache);
    expect(find()).to.deep.equal(CLUSTER);
    const lock = tryProcessLock(join(folder, 'run.lock'), 'mocha');
    expect(() => find()).to.throw('make run is starting in');
    expect(() => find({ folder })).to.throw('make run is starting in');
    if ('release' in lock) lock.release();
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
