import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isDaemonRunning, logPath, startDaemon, stopDaemons } from '../../../cluster/processes.ts';
import { pollUntil } from '../../support/poll.ts';

const STUBBORN = 'trap "" TERM; echo ready; while :; do sleep 0.1; done';
const OBEDIENT = 'echo ready; exec sleep 30';

describe('the processes of the bundled cluster', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-processes-'));
  });
  afterEach(async () => {
    await stopDaemons(folder, ['one'], 50);
    rmSync(folder, { recursive: true });
  });

  const start = async (script: string) => {
    startDaemon(folder, { name: 'one', argv: ['sh', '-c', script] });
    await pollUntil(
      () => readFileSync(logPath(folder, 'one'), 'utf8') === 'ready\n',
      'its first line',
      5_000,
    );
  };

  for (const [what, script] of [
    ['one that obeys', OBEDIENT],
    ['one that ignores SIGTERM', STUBBORN],
  ] as const)
    it(`stops ${what}`, async () => {
      await start(script);
      expect(isDaemonRunning(folder, 'one')).to.equal(true);
      await stopDaemons(folder, ['one'], 200);
      expect(isDaemonRunning(folder, 'one')).to.equal(false);
    });

  it('starts none that runs already', async () => {
    await start(OBEDIENT);
    const pid = readFileSync(join(folder, 'pids', 'one'), 'utf8');
    startDaemon(folder, { name: 'one', argv: ['sh', '-c', OBEDIENT] });
    expect(readFileSync(join(folder, 'pids', 'one'), 'utf8')).to.equal(pid);
  });

  it('leaves another process alone that has the pid of one that ended long ago', async () => {
    mkdirSync(join(folder, 'pids'));
    writeFileSync(join(folder, 'pids', 'one'), `${process.pid} 1`);
    expect(isDaemonRunning(folder, 'one')).to.equal(false);
    await stopDaemons(folder, ['one']);
  });
});
