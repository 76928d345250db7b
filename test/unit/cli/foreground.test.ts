import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { runInForeground } from '../../../cli/framework/foreground.ts';
import { findOnPath } from '../../../machine/system-package.ts';

describe('a program in the place of berth', () => {
  const run = (script: string) => runInForeground('/bin/sh', ['-c', script], process.env);

  it('ends berth with its exit code, as a shell has it', async () => {
    expect(await run('exit 7')).to.equal(7);
    expect(await run('kill -TERM $$')).to.equal(143);
  });

  it('gets the signals that end berth, and decides about Ctrl-C itself', async () => {
    const script = `trap 'exit 9' TERM; kill -INT ${process.pid}; sleep 0.2; kill -TERM ${process.pid}; sleep 5 & wait`;
    expect(await run(script)).to.equal(9);
  });

  it('is reported if it cannot be started, and is no folder of its name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-foreground-'));
    try {
      mkdirSync(join(folder, 'a', 'agent'), { recursive: true });
      mkdirSync(join(folder, 'b'));
      const program = join(folder, 'b', 'agent');
      writeFileSync(program, '#!/no/such/interpreter\n', { mode: 0o755 });
      expect(findOnPath('agent', [join(folder, 'a'), join(folder, 'b')].join(delimiter))).to.equal(program);
      const problem = await runInForeground(program, [], process.env).catch((error: Error) => error.message);
      expect(problem).to.match(/agent cannot be started: .*ENOENT/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
