import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runStage } from '../../../tools/stage-run.ts';

const LATE = `
import { writeFileSync } from 'node:fs';
it('leaves a promise behind', () => {
  writeFileSync(import.meta.filename + '.ran', '');
  setTimeout(() => Promise.reject(new Error('late')), 30);
});`;
/** Each of two workers then runs one more file after the first. */
const NEXT = `
import { globSync } from 'node:fs';
it('passes meanwhile', async () => {
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  while (globSync(import.meta.dirname + '/*.ran').length < 2) await wait(10);
  await wait(300);
});`;

describe('a rejection that nobody handles', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'berth-rejections-'));
  after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const run = (jobs: string[], files: string[]) => {
    const parts = ['--reporter', './tools/file-reporter.ts', '--require', './tools/unhandled-rejections.ts'];
    // The prefix keeps its output apart from the results of this run.
    return runStage(
      { command: ['mocha', '--exit', '--timeout', '60000', ...parts, ...jobs, ...files], isMocha: true },
      'of a test| ',
    );
  };

  for (const [how, jobs, hooks] of [
    ['in one process', [], 1],
    ['in workers', ['--parallel', '--jobs', '2'], 2],
  ] as const)
    it(`fails its own file alone, ${how}, also while the next one runs`, async () => {
      const late = ['a', 'b'].map((name) => write(`${name}.test.ts`, LATE));
      const next = ['c', 'd'].map((name) => write(`${name}.test.ts`, NEXT));
      const { passed, failed, failedFiles } = await run([...jobs], [...late, ...next]);
      expect({ passed, failed, files: failedFiles!.map(({ path }) => path).sort() }).to.deep.equal({
        passed: 4,
        failed: hooks,
        files: late,
      });
    });
});
