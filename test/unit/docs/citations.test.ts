import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const SOURCES =
  '{api,kit,kube,redis,operator,gateway,weights,console,launch,cli,simulator,machine,cluster,tools,test,charts,examples}/**/*.{ts,tsx,lua,yaml,md}';
const CITATION = /(docs\/[\w/-]+\.md)`?((?:,? (?:and )?"[^"\n]+")+)/g;

const HEADINGS = new Map(
  globSync('docs/{,runbooks/}*.md').map((page) => [
    page,
    new Set([...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!)),
  ]),
);

describe('sections of the documentation that the sources cite', () => {
  it('are there', () => {
    const files = globSync(SOURCES, { exclude: (path) => path.includes('node_modules') });
    const cited = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(CITATION)].flatMap(([, page, titles]) =>
        [...titles!.matchAll(/"([^"]+)"/g)].map(([, title]) => ({ file, page: page!, title: title! })),
      ),
    );
    expect(cited.length).to.be.above(40);
    expect(cited.filter(({ page, title }) => !HEADINGS.get(page)?.has(title))).to.deep.equal([]);
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
