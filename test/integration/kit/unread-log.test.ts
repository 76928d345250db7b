import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';

const PROGRAM = join(import.meta.dirname, 'unread-log.ts');

describe('a log that nobody reads', () => {
  let program: ChildProcess;
  const start = async (lines: number) => {
    program = fork(PROGRAM, [String(lines)], { silent: true });
    await once(program, 'message');
  };
  const end = async () => {
    program.send('end');
    const written = await text(program.stdout!);
    return written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).line as number);
  };
  afterEach(() => program.kill('SIGKILL'));

  it('does not hold up the program, which writes all of it before it ends', async () => {
    await start(2_000);
    expect(await end()).to.deep.equal(Array.from({ length: 2_000 }, (_, line) => line));
  });

  it('is kept up to 4 MiB', async () => {
    await start(10_000);
    expect(await end()).to.have.length.within(3_000, 4_100);
  });
});
