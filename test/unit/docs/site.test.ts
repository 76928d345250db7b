import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { slugify } from '../../../docs/.vitepress/slugify.ts';

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

  for (const file of [...globSync('docs/{,runbooks/}*.md'), 'README.md', 'CONTRIBUTING.md'])
    it(`resolves the links of ${file}`, () => {
      const links = [...withoutCode(readFileSync(file, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)];
      const broken = links
        .map(([, link]) => link!)
        .filter((link) => !isExternal(link) && !resolves(file, link));
      expect(broken).to.deep.equal([]);
    });
});

const withoutCode = (text: string): string =>
  text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'code');

const isExternal = (link: string): boolean => /^[a-z]+:/.test(link);

function resolves(file: string, link: string): boolean {
  const [path, anchor] = link.split('#');
  const target = path ? join(dirname(file), path) : file;
  if (!existsSync(target)) return false;
  return anchor === undefined || listAnchors(target).has(anchor);
}

function listAnchors(file: string): Set<string> {
  const text = readFileSync(file, 'utf8');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slugify(heading!));
  const named = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!);
  return new Set([...headings, ...named]);
}
