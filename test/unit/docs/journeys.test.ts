import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** The lists of docs/architecture.md: heading, number of files that it states, lines. */
const journeys = [
  ...readFileSync('docs/architecture.md', 'utf8').matchAll(/^### (.+): (\d+) files\n\n((?:1\. .+\n?)+)/gm),
].map(([, name, count, list]) => ({ name: name!, count: Number(count), lines: list!.trim().split('\n') }));

describe('the journeys of docs/architecture.md', () => {
  it('are three', () => expect(journeys).to.have.length(3));

  for (const { name, count, lines } of journeys) {
    it(`name files that exist, each once: ${name}`, () => {
      const files = lines.flatMap((line) => /^1\. `([^`]+)`/.exec(line)?.[1] ?? []);
      expect(files).to.have.length(lines.length);
      expect(files.filter((file) => !existsSync(file))).to.deep.equal([]);
      expect(new Set(files).size).to.equal(files.length);
    });

    it(`state how many files they pass through: ${name}`, () => {
      const sizes = lines.map((line) => Number(/\((\d+) files\)$/.exec(line)?.[1] ?? 1));
      expect(sizes.reduce((sum, size) => sum + size)).to.equal(count);
    });
  }
});
