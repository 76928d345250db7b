import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeExit } from '../../../launch/processes/child-process.ts';
import { readExits } from '../../support/local-stack.ts';

describe('the local stack of tests', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-exits-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('keeps the log of a part that exited by itself', () => {
    const logPath = join(folder, 'front.log');
    writeFileSync(logPath, 'out of memory\n');
    const output = `Ctrl-C stops it.\n${describeExit({ name: 'front', logPath })}\n`;
    expect(readExits(output)).to.equal(`front exited; see ${logPath}\nout of memory\n`);
  });

  it('says nothing of a run that was stopped', () => {
    expect(readExits('Ctrl-C stops it.\n')).to.equal('');
  });
});
