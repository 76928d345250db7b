import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ENGINE_PRESETS } from '../../../api/engine-presets.ts';
import { readMeasures } from '../../engines/measures.ts';
import { readPresetVersion } from '../../engines/preset-version.ts';
import {
  collectRows,
  describeRun,
  describeSource,
  formatTable,
  replaceTable,
} from '../../engines/run-table.ts';

const passed = (count: number, more: object = {}) => ({
  version: '0.28.0',
  passed: count,
  minutes: 2.2,
  measures: [],
  commit: '1b6773a2',
  date: '2026-11-22',
  ...more,
});
const RUN = {
  engine: 'vllm',
  imageVersion: '0.28.0',
  tests: ['text', 'failures'],
  files: { text: passed(54), failures: passed(7, { measures: ['added latency: 1.5 ms to 40.0 ms'] }) },
};
const SOURCE = {
  engine: 'tei',
  version: '1.9.3',
  reason: 'no package has it',
  read: 'flags',
  commit: '07e0458e',
  date: '2026-11-22',
} as const;
const row = (more: object = {}) => describeRun({ ...RUN, ...more })!;
const lastLine = (...rows: Parameters<typeof formatTable>[0]) =>
  formatTable(rows).trimEnd().split('\n').at(-1);

describe('the table of engines', () => {
  it('has a row for what passed of an engine, with commit and day', () => {
    expect(lastLine(row())).to.equal(
      '| `vllm` | 0.28.0 | run, on a CPU | 61 tests in 4 min (text 54, failures 7). Added latency: 1.5 ms to 40.0 ms | `1b6773a2` | 2026-11-22 |',
    );
  });

  it('names all commits and days at which the files ran', () => {
    const files = { ...RUN.files, text: passed(54, { commit: '4ad616ce+', date: '2026-11-24' }) };
    expect(lastLine(row({ files }))).to.match(/\| `4ad616ce\+`, `1b6773a2` \| 2026-11-22 to 2026-11-24 \|$/);
  });

  for (const [newest, isOld] of [
    ['2026-12-22', false],
    ['2026-12-23', true],
  ] as const)
    it(`says ${isOld ? 'which rows are' : 'of no row that it is'} older than 30 days on ${newest}`, () => {
      const [fresh, old] = [describeSource({ ...SOURCE, date: newest }, '1.9.3'), row()];
      expect(lastLine(fresh, old)).to.match(
        isOld ? /\| 2026-11-22, \*\*older than 30 days\*\* \|$/ : /\| 2026-11-22 \|$/,
      );
      expect(lastLine(old, fresh)).to.match(new RegExp(`\\| ${newest} \\|$`));
    });

  for (const [what, files] of [
    ['has not passed', { text: passed(54) }],
    [
      'passed with the version before the last one',
      { failures: passed(7, { version: '0.27.0' }), text: passed(54) },
    ],
  ] as const)
    it(`names a file that ${what}`, () => {
      const { version, shown } = row({ files });
      expect(version).to.equal('0.28.0');
      expect(shown).to.equal('54 tests in 2 min (text 54). **Not passed: failures**');
    });

  it('tells how many tests of a file failed, and what was measured in it all the same', () => {
    const sdks = passed(0, { failed: 1, measures: ['SDK tests: 52 passed, 8 failed, 3 need the simulator'] });
    expect(row({ tests: ['text', 'sdks'], files: { text: passed(54), sdks } }).shown).to.equal(
      '54 tests in 2 min (text 54). **Not passed: sdks (1 of 1 failed)**. SDK tests: 52 passed, 8 failed, 3 need the simulator',
    );
    expect(row({ tests: ['sdks'], files: { sdks } }).shown).to.match(
      /^\*\*Not passed: sdks \(1 of 1 failed\)\*\*\. SDK tests: 52 passed/,
    );
  });

  it('has no row while nothing has run', () => {
    expect(describeRun({ ...RUN, files: {} })).to.equal(undefined);
  });

  it('tells of an engine that was not run that only its help was read', () => {
    expect(row({ tests: ['flags'], files: { flags: passed(3) } })).to.include({
      how: 'its own help, and its source',
      shown: '3 tests in 2 min (flags 3)',
    });
  });

  it('says where another version was run, or read, than the image of the preset has', () => {
    expect(row({ imageVersion: '0.29.0' }).version).to.equal("0.28.0, not the image's 0.29.0");
    expect(describeSource(SOURCE, '1.9.3')).to.include({
      version: '1.9.3',
      how: 'by its source: no package has it',
      shown: 'flags',
    });
    expect(describeSource(SOURCE, '1.9.4').version).to.equal("1.9.3, not the image's 1.9.4");
  });

  it('has a row for each preset, with the version of its image', () => {
    const presets = ENGINE_PRESETS.filter((preset) => preset !== 'simulator' && preset !== 'custom');
    const versions = collectRows().map(({ engine, version }) => [
      engine,
      version.split("not the image's ").at(-1),
    ]);
    expect(versions).to.have.deep.members(presets.map((preset) => [preset, readPresetVersion(preset)]));
  });

  it('is in the page as the stage writes it', () => {
    const page = readFileSync('docs/tested-engines.md', 'utf8');
    const written = replaceTable(page, formatTable(collectRows()));
    expect(page, 'node test/engines/run-table.ts').to.equal(written);
  });

  it('leaves the rest of the page, which needs a place for it', () => {
    const [before, after] = ['a\n', '\nb\n'];
    const [begin, end] = readFileSync('docs/tested-engines.md', 'utf8').match(/^<!-- .*\n/gm)!;
    expect(replaceTable(before + begin + end + after, 'c\n')).to.equal(
      `${before}${begin}c\n\n${end}${after}`,
    );
    expect(() => replaceTable('nothing', 'c\n')).to.throw('docs/tested-engines.md needs the lines');
  });

  it('reads the measures among the output of the tests', () => {
    expect(readMeasures('  ✔ frees\n      measured freed: 0.10 s\n')).to.deep.equal(['freed: 0.10 s']);
  });
});
