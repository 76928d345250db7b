import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { tryProcessLock } from '../../../tools/process-lock.ts';

describe('the lock of a folder', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-lock-'));
    path = join(folder, 'run.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is taken over from a killed process that had the same id, as in a container that is started again', () => {
    writeFileSync(path, String(process.pid));
    const lock = tryProcessLock(path, 'mocha');
    expect(lock).to.have.property('release');
  });

  it('is given to this process once, until it is released', () => {
    const lock = tryProcessLock(path, 'mocha');
    expect(tryProcessLock(path, 'mocha')).to.deep.equal({ heldBy: process.pid });
    if ('release' in lock) lock.release();
    expect(existsSync(path)).to.equal(false);
    expect(tryProcessLock(path, 'mocha')).to.have.property('release');
  });
});
