/** Containers of `make run` that are programs of this machine. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ContainerProcesses } from '../../launch/local-node/container-process.ts';
import { pollUntil } from '../support/poll.ts';

describe('a container of make run', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-container-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('leaves no process behind when its first one has ended, as one of a pod does', async () => {
    const logPath = join(folder, 'log');
    const { ended } = new ContainerProcesses(folder).start({
      program: {
        kind: 'command',
        command: 'bash',
        args: ['-c', 'trap "" TERM; sleep 1000 & echo $!; exit 3'],
      },
      env: {},
      logPath,
    });
    expect(await ended).to.equal(3);
    const pid = Number(readFileSync(logPath, 'utf8'));
    await pollUntil(() => isGone(pid), 'the end of its other process');
  });
});

/** Nobody may be there to reap it. */
function isGone(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
