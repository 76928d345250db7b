import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ensureFolder } from '../../../machine/cached-folder.ts';

const MAKER = join(import.meta.dirname, 'cached-folder-maker.ts');

describe('a folder of the cache', () => {
  let within: string;
  beforeEach(() => {
    within = mkdtempSync(join(tmpdir(), 'berth-cache-'));
  });
  afterEach(() => rmSync(within, { recursive: true }));

  it('is made once where several processes ask for it at the same moment', async function () {
    this.timeout(60_000);
    const makers = Array.from({ length: 3 }, () => fork(MAKER, [within]));
    try {
      await Promise.all(makers.map((maker) => once(maker, 'message')));
      const folders = await Promise.all(makers.map(ask));
      expect(new Set(folders)).to.have.property('size', 1);
      expect(readFileSync(join(within, 'makers'), 'utf8').trim().split('\n')).to.have.length(1);
      expect(readdirSync(folders[0]!)).to.deep.equal(['ready']);
      // No lock remains.
      expect(readdirSync(within)).to.have.length(2);
    } finally {
      for (const maker of makers) maker.kill();
    }
  });

  it('is created again after an attempt that failed, without what that left', () => {
    const cached = { name: 'thing', madeFrom: 'one', within };
    const fail = () =>
      ensureFolder({
        ...cached,
        make: (folder) => {
          mkdtempSync(join(folder, 'half-'));
          throw new Error('no network');
        },
      });
    expect(fail).to.throw('no network');
    expect(readdirSync(ensureFolder({ ...cached, make: () => {} }))).to.deep.equal(['ready']);
  });
});

async function ask(maker: ChildProcess): Promise<string> {
  const answered = once(maker, 'message');
  maker.send('make');
  return (await answered)[0] as string;
}
