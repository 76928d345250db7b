import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findStateFolder } from '../../../../launch/listener/local-run.ts';

describe('the folder of make run that berth-listen finds', () => {
  let root: string;
  let inner: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-listen-'));
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
    expect(findStateFolder(null, inner, {})).to.equal(outer);
    mkdirSync(join(root, 'project', '.berth'));
    expect(findStateFolder(null, inner, {})).to.equal(outer);
    const nearest = run(join(root, 'project', '.berth'));
    expect(findStateFolder(null, inner, {})).to.equal(nearest);
  });

  it('is the one that is named, running or not', () => {
    run(join(root, '.berth'));
    expect(findStateFolder('state', inner, { BERTH_STATE: 'other' })).to.equal(join(inner, 'state'));
    expect(findStateFolder(null, inner, { BERTH_STATE: '/other' })).to.equal('/other');
  });

  it('is that of the kubeconfig, if there is none above', () => {
    const folder = run(join(root, 'elsewhere'));
    expect(findStateFolder(null, inner, { KUBECONFIG: join(folder, 'kubeconfig') })).to.equal(folder);
    expect(findStateFolder(null, inner, { KUBECONFIG: join(root, 'config') })).to.equal(
      join(inner, '.berth'),
    );
  });
});
