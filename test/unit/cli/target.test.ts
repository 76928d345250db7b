import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findPlace, findStateFolder } from '../../../cli/framework/target.ts';

describe('the folder of make run that berth finds', () => {
  let root: string;
  let inner: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-target-'));
    inner = join(root, 'project', 'source');
    mkdirSync(inner, { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const run = (folder: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'endpoints.json'), '{}');
    return folder;
  };

  it('is the nearest in which it runs, here or above', () => {
    const outer = run(join(root, '.berth'));
    expect(findStateFolder(undefined, inner, {})).to.equal(outer);
    mkdirSync(join(root, 'project', '.berth'));
    expect(findStateFolder(undefined, inner, {})).to.equal(outer);
    const nearest = run(join(root, 'project', '.berth'));
    expect(findStateFolder(undefined, inner, {})).to.equal(nearest);
  });

  it('is the one that is named, running or not', () => {
    run(join(root, '.berth'));
    expect(findStateFolder('state', inner, { BERTH_STATE: 'other' })).to.equal(join(inner, 'state'));
    expect(findStateFolder(undefined, inner, { BERTH_STATE: '/other' })).to.equal('/other');
  });

  it('is that of the kubeconfig, if there is none above', () => {
    const folder = run(join(root, 'elsewhere'));
    expect(findStateFolder(undefined, inner, { KUBECONFIG: join(folder, 'kubeconfig') })).to.equal(folder);
    expect(findStateFolder(undefined, inner, { KUBECONFIG: join(root, 'config') })).to.equal(
      join(inner, '.berth'),
    );
  });

  it('leads to make run, to make cluster, or to the cluster of the kubeconfig', () => {
    const folder = run(join(root, 'project', '.berth'));
    expect(findPlace({}, inner, {})).to.deep.equal({ kind: 'run', folder, endpoints: {} });
    expect(findPlace({ kubeconfig: 'k', context: 'prod' }, inner, {})).to.deep.equal({
      kind: 'cluster',
      source: { file: 'k', context: 'prod' },
    });
    const made = { cluster: { kubeconfig: 'k', exec: [] } };
    writeFileSync(join(folder, 'endpoints.json'), JSON.stringify(made));
    expect(findPlace({}, inner, {})).to.deep.equal({ kind: 'made', endpoints: made });
    rmSync(folder, { recursive: true });
    expect(findPlace({}, inner, {})).to.deep.equal({ kind: 'cluster', source: {} });
  });

  it('has to be running if it is named', () => {
    expect(() => findPlace({ folder: 'state' }, inner, {})).to.throw('start make run or make cluster first');
    expect(() => findPlace({}, inner, { BERTH_STATE: 'state' })).to.throw('nothing is running in');
    expect(() => findPlace({ folder: 'state', context: 'prod' }, inner, {})).to.throw('give either it, or');
  });
});
