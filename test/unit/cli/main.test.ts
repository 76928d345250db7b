import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

describe('the program berth', () => {
  it('ends without a word if nobody reads its output anymore', () => {
    const script = `'${process.execPath}' cli/main.ts --help | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect({ stdout, stderr }).to.deep.equal({ stdout: '0\n', stderr: '' });
  });
});
