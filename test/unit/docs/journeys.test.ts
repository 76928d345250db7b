import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

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

describe('the journeys of docs/architecture.md', () => {
  it('are three', () => expect(journeys).to.have.length(3));

  for (const { name, count, lines } of journeys) {
    it(`name files that exist, each once: ${name}`, () => {
      const files = lines.flatMap(listFiles);
      expect(files.filter((file) => !existsSync(file))).to.deep.equal([]);
      expect(new Set(files).size).to.equal(files.length);
    });

    it(`state how many files they pass through: ${name}`, () => {
      for (const line of lines)
        expect(listFiles(line), line).to.have.length(Number(/\((\d+) files\)$/.exec(line)?.[1] ?? 1));
      expect(lines.flatMap(listFiles)).to.have.length(count);
    });
  }
});
