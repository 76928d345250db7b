import { globSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { expect } from 'chai';

const CONFIG = readFileSync('docs/.vitepress/config.ts', 'utf8');
const INDEX = readFileSync('docs/index.md', 'utf8');
const PAGES = globSync('docs/*.md')
  .map((file) => basename(file, '.md'))
  .filter((page) => page !== 'index');

describe('the documentation site', () => {
  const linked = [...CONFIG.matchAll(/page\('[^']+', '\/([\w-]+)\/?'\)/g)].map(([, page]) => page!);

  it('has each page in its sidebar once', () => {
    expect(linked.filter((page) => page !== 'runbooks').sort()).to.deep.equal(PAGES.sort());
  });

  it('leads to each page from its first one', () => {
    for (const page of linked) expect(INDEX, page).to.match(new RegExp(`\\(${page}(\\.md|/index\\.md)\\)`));
  });

  it('shows each picture once, with what is seen on it', () => {
    const shown = PAGES.flatMap((page) => [
      ...readFileSync(`docs/${page}.md`, 'utf8').matchAll(/!\[([^\]]{20,})\]\((pictures\/[^)]+)\)/g),
    ]).map(([, , picture]) => `docs/${picture}`);
    expect(shown.sort()).to.deep.equal(globSync('docs/pictures/*').sort());
  });

  it('has pictures of less than 400 kB together', () => {
    const bytes = globSync('docs/pictures/*').map((picture) => statSync(picture).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).to.be.within(1, 400_000);
  });
});
