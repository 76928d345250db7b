import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { COMMAND_NAMES } from '../../../cli/framework/commands.ts';
import { writeCompletion } from '../../../cli/framework/completion.ts';

/** What bash offers for the words; `berth` itself lists two deployments. */
function complete(...words: string[]): string[] {
  const script = `${writeCompletion('bash')}
berth() { printf '%s\\n' chat video; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_berth; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stderr).to.equal('');
  return stdout.trim().split('\n');
}

describe('the completion of berth', () => {
  it('offers commands, options, and deployments by name', () => {
    expect(complete('berth', 'w')).to.deep.equal(['why']);
    expect(complete('berth', 'why', '')).to.deep.equal(['chat', 'video']);
    expect(complete('berth', 'logs', 'v')).to.deep.equal(['video']);
    expect(complete('berth', 'logs', '--req')).to.deep.equal(['--request']);
    expect(complete('berth', 'completion', 'f')).to.deep.equal(['fish']);
  });

  it('has all commands in each shell, which parses it where it is installed', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const input = writeCompletion(shell);
      for (const name of COMMAND_NAMES) expect(input).to.include(name);
      const { error, stderr } = spawnSync(shell, ['-n'], { input, encoding: 'utf8' });
      if (shell === 'bash') expect(error).to.equal(undefined);
      if (!error) expect(stderr, shell).to.equal('');
    }
    expect(() => writeCompletion('csh')).to.throw('there is one for bash, zsh, fish');
  });
});
