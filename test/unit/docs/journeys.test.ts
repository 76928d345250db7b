import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { listImports } from '../../../tools/import-directions.ts';

/** The lists of docs/architecture.md: heading, number of files that it states, lines. */
const journeys = [
  ...readFileSync('docs/architecture.md', 'utf8').matchAll(/^### (.+): (\d+) files\n\n((?:1\. .+\n?)+)/gm),
].map(([, name, count, list]) => ({ name: name!, count: Number(count), lines: list!.trim().split('\n') }));

const fileOf = (line: string): string | undefined => /^1\. `([^`]+)`/.exec(line)?.[1];

/** Files of a line: one, or those of the chat's list from the first that it names to the last. */
function listFiles(line: string): string[] {
  const [first, last] = /^1\. `([^`]+)`: to `([^`]+)`: as for a chat request/.exec(line)?.slice(1) ?? [];
  if (!first || !last) return [fileOf(line)!];
  const chat = journeys[0]!.lines.map((each) => fileOf(each)!);
  return chat.slice(chat.indexOf(first), chat.indexOf(last) + 1);
}

/** Injected when a program is composed: the others only import its interface, from another file. */
const INJECTED = new Set([
  'gateway/capacity/replica-capacity.ts',
  'gateway/health/watched-dispatcher.ts',
  'gateway/storage/remote-url-signer.ts',
]);
/** "About 250 lines" (CONTRIBUTING.md), and a tenth more. */
const MAX_LINES = 275;
/** A chat's, a deployment's and a video's: a journey that grows is a sign of a cut in the wrong place. */
const MAX_FILES = [38, 30, 45];
const imports = listImports();

describe('the journeys of docs/architecture.md', () => {
  it('are three', () => expect(journeys).to.have.length(3));

  it('grow no longer', () => {
    for (const [index, { name, count }] of journeys.entries())
      expect(count, name).to.be.at.most(MAX_FILES[index]!);
  });

  for (const { name, count, lines } of journeys) {
    it(`name files that exist, each once: ${name}`, () => {
      const files = lines.flatMap(listFiles);
      expect(files.filter((file) => !existsSync(file))).to.deep.equal([]);
      expect(new Set(files).size).to.equal(files.length);
    });

    it(`name one file a line: ${name}`, () => {
      const others = lines
        .filter((line) => !line.includes('as for a chat request'))
        .filter((line) => (line.match(/`[\w./-]+\.(ts|lua)`/g)?.length ?? 0) > 1)
        .filter((line) => !/by `settle` in `admission\.lua`/.test(line));
      expect(others).to.deep.equal([]);
    });

    it(`are linked by imports: ${name}`, () => {
      const files = lines.flatMap(listFiles);
      const isLinked = (file: string) =>
        imports.some(
          ({ from, to }) => (from === file && files.includes(to)) || (to === file && files.includes(from)),
        );
      const apart = files.filter((file) => !file.endsWith('.lua') && !INJECTED.has(file) && !isLinked(file));
      expect(apart).to.deep.equal([]);
    });

    it(`leave out what is read as a library: ${name}`, () =>
      expect(lines.flatMap(listFiles).filter((file) => /^(kit|kube)\//.test(file))).to.deep.equal([]));

    it(`pass through no file that is too long to be read as one: ${name}`, () => {
      const lengthOf = (file: string) => readFileSync(file, 'utf8').split('\n').length - 1;
      expect(lines.flatMap(listFiles).filter((file) => lengthOf(file) > MAX_LINES)).to.deep.equal([]);
    });

    it(`state how many files they pass through: ${name}`, () => {
      for (const line of lines)
        expect(listFiles(line), line).to.have.length(Number(/\((\d+) files\)$/.exec(line)?.[1] ?? 1));
      expect(lines.flatMap(listFiles)).to.have.length(count);
    });
  }
});
