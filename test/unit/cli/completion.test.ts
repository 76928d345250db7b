import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { COMMAND_NAMES } from '../../../cli/framework/commands.ts';
import { writeCompletion } from '../../../cli/framework/completion.ts';

const CATALOG = ['qwen3-8b', 'simulator-chat'];

/** What bash offers for the words. */
function complete(...words: string[]): string[] {
  const script = `${writeCompletion('bash', CATALOG)}
berth() { echo 'berth was called' >&2; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_berth; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stderr).to.equal('');
  return stdout.trim().split('\n');
}

describe('the completion of berth', () => {
  it('offers commands, options and the catalog, and calls nothing', () => {
    expect(complete('berth', 'w')).to.deep.equal(['why']);
    expect(complete('berth', 'deploy', 'q')).to.deep.equal(['qwen3-8b']);
    expect(complete('berth', 'logs', '--req')).to.deep.equal(['--request']);
    expect(complete('berth', 'completion', 'f')).to.deep.equal(['fish']);
  });

  it('leaves other words to the shell, which offers files', () => {
    expect(complete('berth', 'why', '')).to.deep.equal(['']);
    expect(complete('berth', 'deploy', '--kubeconfig', '')).to.deep.equal(['']);
    expect(writeCompletion('bash', CATALOG)).to.include('-o default');
  });

  it('has all commands in each shell, which parses it where it is installed', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const input = writeCompletion(shell, CATALOG);
      for (const name of [...COMMAND_NAMES, ...CATALOG]) expect(input).to.include(name);
      const { error, stderr } = spawnSync(shell, ['-n'], { input, encoding: 'utf8' });
      if (shell === 'bash') expect(error).to.equal(undefined);
      if (!error) expect(stderr, shell).to.equal('');
    }
    expect(() => writeCompletion('csh', CATALOG)).to.throw('there is one for bash, zsh, fish');
  });
});
