import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runFailedAgain, runStage, type Stage } from '../../../tools/stage-run.ts';

/** Keeps the output of these stages apart from the results of this run. */
const PREFIX = 'of a test| ';

describe('a stage', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-stage-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const files = [...'abcdefghi'].map((name) => `${name}.test.ts`);
  const run = async (script: string, settings = {}) => {
    const stage: Stage = { command: ['sh', '-c', script, folder, ...files], isMocha: true, ...settings };
    return runFailedAgain(stage, await runStage(stage, PREFIX), PREFIX);
  };
  /** Each file fails in its first run. */
  const failOnce = (names: string) =>
    `for file in "$@"; do case "${names}" in *$file*) [ -e "$0/$file" ] || {
      touch "$0/$file"; echo "  0 passing"; echo "  1 failing"; echo "  1) $file breaks"; echo "failed file $file (0 passed)"; continue
    };; esac; echo "  1 passing"; done`;

  it('gives each of its shards a part of the files, and adds up what they counted', async () => {
    const script = 'echo "  $# passing" | tee "$0/$MOCHA_WORKER_ID"; [ $# = 9 ] && echo "  9 passing"; true';
    const counts = await run(script, { shards: 2 });
    expect(counts).to.include({ passed: 9, failed: 0 }).and.not.have.property('failures');
    expect(await run(script)).to.include({ passed: 18, failed: 0 });
  });

  it('has failed where one of its shards breaks off', async () => {
    const script = 'echo "  $# passing"; exit "$MOCHA_WORKER_ID"';
    expect(await run(script, { shards: 2, isRepeated: true })).to.include({ passed: 9, failed: 1 });
  });

  it('runs up to eight files of real processes again, and tells what passes then as flaky', async () => {
    const counts = await run(failOnce('a.test.ts b.test.ts'), { shards: 2, isRepeated: true });
    expect(counts).to.include({ passed: 9, failed: 0 });
    expect(counts.flaky)
      .to.match(/a\.test\.ts breaks/)
      .and.match(/b\.test\.ts breaks/);
  });

  it('has failed where more files did', async () => {
    const script = failOnce(files.join(' '));
    expect(await run(script, { isRepeated: true })).to.include({ passed: 0, failed: 9 });
  });

  it('tells what failed in each of several runs of Mocha', async () => {
    const script =
      'for file in "$@"; do echo "  1 failing"; echo "  1) $file breaks"; echo "failed file $file (0 passed)"; echo "$0"; done';
    const { failed, failures } = await run(script);
    expect(failed).to.equal(9);
    expect(failures!.split('\n')).to.deep.equal(files.slice(0, 8).map((file) => `  1) ${file} breaks`));
  });

  it('tells in a line each which tests failed', async () => {
    const line = 'failed test a.test.ts: sinks: expected 1 to equal 2';
    const script = `echo "  1 failing"; echo "  1) sinks"; echo "${line}"; echo "failed file a.test.ts (0 passed)"`;
    const { failedTests, failures } = await run(script);
    expect(failedTests).to.deep.equal([line.replace('failed test ', '')]);
    expect(failures).to.equal('  1) sinks');
  });

  it('tells which tests the machine skipped, also where a file was run again', async () => {
    const line = 'skipped test b.test.ts: needs root';
    const counts = await run(`echo "${line}"; ${failOnce('a.test.ts')}`, { isRepeated: true });
    expect(counts).to.include({ passed: 9, failed: 0 });
    expect(counts.skippedTests).to.deep.equal([line.replace('skipped test ', '')]);
  });

  it('has failed with one file where its tests are of no real processes', async () => {
    expect(await run(failOnce('a.test.ts'))).to.include({ passed: 8, failed: 1 });
  });

  it('counts a check as one', async () => {
    const check = { isMocha: false };
    expect(await runStage({ ...check, command: ['true'] }, PREFIX)).to.include({ passed: 1, failed: 0 });
    expect(await runStage({ ...check, command: ['false'] }, PREFIX)).to.include({ passed: 0, failed: 1 });
  });
});
