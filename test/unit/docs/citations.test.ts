import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const FOLDERS = [
  'api',
  'kit',
  'redis',
  'operator',
  'gateway',
  'weights',
  'console',
  'launch',
  'simulator',
  'tools',
];
const CITATION = /docs\/api\.md((?:,? (?:and )?"[^"\n]+")+)/g;

describe('sections of docs/api.md that the sources cite', () => {
  const headings = new Set(
    [...readFileSync('docs/api.md', 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!),
  );

  it('are there', () => {
    const files = FOLDERS.flatMap((folder) =>
      globSync(`${folder}/**/*.{ts,tsx,lua}`, { exclude: (path) => path.includes('node_modules') }),
    );
    const cited = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(CITATION)].flatMap(([, titles]) =>
        [...titles!.matchAll(/"([^"]+)"/g)].map(([, title]) => ({ file, title: title! })),
      ),
    );
    expect(cited.length).to.be.above(40);
    expect(cited.filter(({ title }) => !headings.has(title))).to.deep.equal([]);
  });
});

describe('source files that the documentation names', () => {
  const NAMED =
    /`((?:api|kit|kube|redis|operator|gateway|weights|console|launch|simulator|tools|test)\/[\w./-]+\.\w+)`/g;

  it('exist', () => {
    const pages = globSync('docs/*.md').filter((page) => !page.endsWith('decisions.md'));
    const missing = [...pages, 'README.md', 'CONTRIBUTING.md'].flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(NAMED)]
        .map(([, file]) => ({ page, file: file! }))
        .filter(({ file }) => !existsSync(file)),
    );
    expect(missing).to.deep.equal([]);
  });
});
