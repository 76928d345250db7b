import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

/** What make would run. */
function plan(args: string[], env: Record<string, string>): string {
  const { stdout, stderr, status } = spawnSync('make', ['--dry-run', ...args], {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  });
  expect(status, stderr).to.equal(0);
  return stdout;
}

describe('variables with common names', () => {
  it('count on the command line of make alone', () => {
    const env = { MODEL: 'gpt-4o', ARGS: '--verbose', NAME: 'DESKTOP-1' };
    expect(plan(['run'], env)).to.match(/ -u MODEL\b.* -u ARGS\b/);
    expect(plan(['run', 'MODEL=./a.gguf'], env))
      .to.match(/ -u ARGS\b/)
      .and.not.include('-u MODEL');
    expect(plan(['key'], env)).not.to.include('$NAME"');
    // An empty one is none.
    expect(plan(['key', 'NAME=mine'], env)).to.match(/\$\{NAME:\+"\$NAME"\}/);
  });
});
