import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { tryProcessLock } from '../../../machine/process-lock.ts';

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

  it('is taken over from a killed process by one of those that find it at the same moment', async function () {
    this.timeout(60_000);
    const contenders = Array.from({ length: 4 }, () => fork(CONTENDER, [path]));
    try {
      await Promise.all(contenders.map((contender) => once(contender, 'message')));
      for (let round = 0; round < 100; round++) {
        writeFileSync(path, String(NOBODY));
        const winners = await sendAll(contenders, 'lock');
        expect(winners.filter(Boolean), `winners of round ${round}`).to.have.length(1);
        await sendAll(contenders, 'release');
      }
    } finally {
      for (const contender of contenders) contender.kill();
    }
  });
});

/** Above the largest process id of Linux. */
const NOBODY = 2 ** 22 + 1;
const CONTENDER = join(import.meta.dirname, 'lock-contender.ts');

const sendAll = (contenders: ChildProcess[], what: 'lock' | 'release'): Promise<boolean[]> =>
  Promise.all(
    contenders.map(async (contender) => {
      const answered = once(contender, 'message');
      contender.send(what);
      return (await answered)[0] as boolean;
    }),
  );
