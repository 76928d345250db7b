import { expect } from 'chai';
import { readFunctionFiles } from '../../../redis/library.ts';
import { COMMANDS } from '../../../redis/workspaces/users.ts';

describe('the functions of batches', () => {
  it('run no command that a workspace’s user may not: they would end half way', () => {
    const source = readFunctionFiles().get('batches.lua')!;
    const used = [...source.matchAll(/redis\.call\('(\w+)'/g)].map(([, command]) => command!.toLowerCase());
    // To its own channels.
    const allowed = new Set([...COMMANDS, 'publish']);
    expect(used).to.have.length.above(20);
    expect(used.filter((command) => !allowed.has(command))).to.eql([]);
  });
});
