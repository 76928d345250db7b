import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ENGINE_PRESETS } from '../../../api/engine-presets.ts';
import { ENGINE_NAMES, REAL_ENGINES } from '../../engines/catalog.ts';
import { readMeasures } from '../../engines/measures.ts';
import { readPresetVersion } from '../../engines/preset-version.ts';
import { READ_SOURCES } from '../../engines/read-sources.ts';
import { replaceRow, replaceSourceRow } from '../../engines/run-table.ts';
import { readTestedFiles } from '../../engines/tested-files.ts';

const passed = (count: number, more: object = {}) => ({
  version: '0.28.0',
  passed: count,
  minutes: 2.2,
  measures: [],
  date: '2026-11-22',
  ...more,
});
const RUN = {
  engine: 'vllm',
  version: '0.28.0',
  imageVersion: '0.28.0',
  tests: ['text', 'failures'],
  files: { text: passed(54), failures: passed(7, { measures: ['added latency: 1.5 ms to 40.0 ms'] }) },
};
const DOCUMENT = 'a\n| `vllm` | 0.27.0 | by its source | | |\n| `vllm-omni` | 0.27.0 | by its source | | |\n';

describe('the table of engines', () => {
  it('has what passed of an engine in its row, and leaves the others', () => {
    expect(replaceRow(DOCUMENT, RUN).split('\n')).to.deep.equal([
      'a',
      '| `vllm` | 0.28.0 | run, on a CPU | 61 tests in 4 min (text 54, failures 7). Added latency: 1.5 ms to 40.0 ms | 2026-11-22 |',
      '| `vllm-omni` | 0.27.0 | by its source | | |',
      '',
    ]);
  });

  it('tells from when to when the files ran', () => {
    const files = { ...RUN.files, text: passed(54, { date: '2026-11-24' }) };
    expect(replaceRow(DOCUMENT, { ...RUN, files })).to.include('| 2026-11-22 to 2026-11-24 |');
  });

  for (const [what, failures] of [
    ['has not passed', {}],
    ['passed with another version', { failures: passed(7, { version: '0.27.0' }) }],
  ] as const)
    it(`names a file that ${what}`, () => {
      const row = replaceRow(DOCUMENT, { ...RUN, files: { text: passed(54), ...failures } });
      expect(row).to.include('| 54 tests in 2 min (text 54). **Not passed: failures** | 2026-11-22 |');
    });

  it('tells how many tests of a file failed, and what was measured in it all the same', () => {
    const sdks = passed(0, { failed: 1, measures: ['SDK tests: 52 passed, 8 failed, 3 need the simulator'] });
    const row = replaceRow(DOCUMENT, { ...RUN, tests: ['text', 'sdks'], files: { text: passed(54), sdks } });
    expect(row).to.include(
      '| 54 tests in 2 min (text 54). **Not passed: sdks (1 of 1 failed)**. SDK tests: 52 passed, 8 failed, 3 need the simulator |',
    );
    const alone = replaceRow(DOCUMENT, { ...RUN, tests: ['sdks'], files: { sdks } });
    expect(alone).to.include('| **Not passed: sdks (1 of 1 failed)**. SDK tests: 52 passed');
  });

  it('stays as it is while nothing has run', () => {
    expect(replaceRow(DOCUMENT, { ...RUN, files: {} })).to.equal(DOCUMENT);
  });

  it('tells of an engine that was not run that only its help was read', () => {
    const row = replaceRow(DOCUMENT, { ...RUN, tests: ['flags'], files: { flags: passed(3) } });
    expect(row).to.include('| `vllm` | 0.28.0 | its own help, and its source | 3 tests in 2 min (flags 3) |');
  });

  it('says where another version was run, or read, than the image of the preset has', () => {
    const other = replaceRow(DOCUMENT, { ...RUN, imageVersion: '0.29.0' });
    expect(other).to.include("| `vllm` | 0.28.0, not the image's 0.29.0 | run, on a CPU |");
    const source = {
      engine: 'vllm',
      version: '0.28.0',
      reason: 'no GPU',
      read: 'flags',
      date: '2026-11-25',
    } as const;
    expect(replaceSourceRow(DOCUMENT, source, '0.28.0')).to.include(
      '| `vllm` | 0.28.0 | by its source: no GPU | flags | 2026-11-25 |',
    );
    expect(replaceSourceRow(DOCUMENT, source, '0.29.0')).to.include("| 0.28.0, not the image's 0.29.0 |");
  });

  it('has for each preset the version of its image, or says which one that is', () => {
    const document = readFileSync('docs/tested-engines.md', 'utf8');
    const presets = ENGINE_PRESETS.filter((preset) => preset !== 'simulator' && preset !== 'custom');
    for (const preset of presets) {
      const version = new RegExp(`^\\| \`${preset}\` \\| ([^|]*) \\|`, 'm').exec(document)?.[1] ?? '';
      expect(version.split("not the image's ").at(-1), `the row of ${preset}`).to.equal(
        readPresetVersion(preset),
      );
    }
  });

  it('has the rows of what was only read as the stage writes them', () => {
    const document = readFileSync('docs/tested-engines.md', 'utf8');
    for (const source of READ_SOURCES)
      expect(replaceSourceRow(document, source, readPresetVersion(source.engine))).to.equal(document);
  });

  for (const engine of ENGINE_NAMES)
    it(`has the row of what was run as the stage writes it: ${engine}`, () => {
      const document = readFileSync('docs/tested-engines.md', 'utf8');
      const files = readTestedFiles(engine);
      expect(files, 'make test-engines').to.not.be.empty;
      const { version } = Object.values(files).at(-1)!;
      const { tests } = REAL_ENGINES[engine];
      const run = { engine, version, imageVersion: readPresetVersion(engine), tests, files };
      expect(replaceRow(document, run)).to.equal(document);
    });

  it('needs a row to write to', () => {
    expect(() => replaceRow('nothing', RUN)).to.throw('docs/tested-engines.md has no row for vllm');
  });

  it('reads the measures among the output of the tests', () => {
    expect(readMeasures('  ✔ frees\n      measured freed: 0.10 s\n')).to.deep.equal(['freed: 0.10 s']);
  });
});
