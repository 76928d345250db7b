import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findDeadLinks } from '../../../tools/links.ts';
import { listSentences } from '../../../tools/prose.ts';
import { findOpeningsOf, findProblems } from '../../../tools/sentences.ts';

const words = (count: number): string => `${Array.from({ length: count }, () => 'word').join(' ')}.`;

describe('the sentences of a page', () => {
  const textsOf = (page: string) => listSentences(page).map(({ text }) => text);

  it('end with a sign and a capital, not with a version, an abbreviation or the end of a line', () => {
    expect(
      textsOf('Node 24.1 runs it,\ne.g. here. Older ones do not (see below). `make` helps.'),
    ).to.deep.equal(['Node 24.1 runs it, e.g. here.', 'Older ones do not (see below).', 'Code helps.']);
  });

  it('are those of paragraphs, list items and cells, each with the line on which it starts', () => {
    const page =
      '# Title\n\nOne\ntext.\n\n- **First**\n- Second\n  part\n\n| A | `x|y` B |\n|---|---|\n| C | |\n';
    expect(listSentences(page).map(({ line, text, isCell }) => [line, text, isCell])).to.deep.equal([
      [3, 'One text.', false],
      [6, 'First', false],
      [7, 'Second part', false],
      [10, 'A', true],
      [10, 'Code B', true],
      [12, 'C', true],
    ]);
  });

  it('leave out code, HTML, front matter and the targets of links', () => {
    const page =
      '---\ntitle: x\n---\n<!-- a\nnote -->\n<a id="x"></a>See [this page](a.md#b).\n\n```sh\nOf code. Too\n```\n\n    ~~~\n    more\n    ~~~\n';
    expect(listSentences(page)).to.deep.equal([{ line: 6, text: 'See this page.', words: 3, isCell: false }]);
  });
});

describe('the check of sentences', () => {
  it('takes 40 words, and refuses 41, with the line', () => {
    expect(findProblems(`Short one.\n\nAnother.\n\n${words(40)}`)).to.deep.equal([]);
    const [problem, ...more] = findProblems(`Short one.\n\nAnother.\n\n${words(41)}`);
    expect(more).to.deep.equal([]);
    expect(problem).to.match(/^5: 41 words in a sentence/);
  });

  it('refuses a page of 26 words a sentence on average; cells do not count', () => {
    expect(findProblems(`${words(25)}\n\n${words(25)}`)).to.deep.equal([]);
    expect(findProblems(`${words(26)}\n\n| a | b |\n`))
      .to.have.length(1)
      .and.satisfy(([first]: string[]) => first!.startsWith('1: 26.0 words a sentence'));
  });

  const refused = [
    'Of tenants, two are limited.',
    'Codex works, too.',
    'One call is under way.',
    'It goes round the gateway.',
    'The panel is beside the list.',
  ];
  for (const sentence of refused)
    it(`refuses "${sentence}"`, () => expect(findProblems(sentence)).to.have.length(1));

  it('takes what only looks alike', () => {
    expect(findProblems('Besides, too many wait, of which one is first. Of course it waits.')).to.deep.equal(
      [],
    );
  });
});

describe('the check of comments', () => {
  it('refuses one that opens with "Of", in TypeScript and Lua', () => {
    const opening = 'Of a pod.';
    const source = `/** ${opening} */\nx();\n/**\n * ${opening}\n */\ny(); // ${opening}\n-- ${opening}`;
    expect(findOpeningsOf(source).map((problem) => problem.split(':')[0])).to.deep.equal([
      '1',
      '4',
      '6',
      '7',
    ]);
  });

  it('takes "Of" elsewhere', () => {
    expect(
      findOpeningsOf("/** Name of a pod. */\nconst text = 'Of a pod';\n/** Office hours. */"),
    ).to.deep.equal([]);
  });
});

describe('the check of links', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-links-'));
    writeFileSync(join(folder, 'other.md'), '# The Title\n\n<a id="named"></a>\n');
  });
  after(() => rmSync(folder, { recursive: true }));

  it('finds files and anchors that are not there, with their lines', () => {
    const file = join(folder, 'page.md');
    writeFileSync(
      file,
      '# Here\n[a](other.md#the-title) [b](other.md#named) [c](#here) [d](https://example.com)\n\n[e](gone.md) [f](other.md#gone)\n[g](#gone) `[h](code.md)`\n',
    );
    expect(findDeadLinks(file)).to.deep.equal([
      { line: 4, target: 'gone.md' },
      { line: 4, target: 'other.md#gone' },
      { line: 5, target: '#gone' },
    ]);
  });
});
