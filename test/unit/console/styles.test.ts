import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const STYLES = 'node_modules/@mantine/core/styles';
const CODE = 'node_modules/@mantine/core/esm';
const WEB = 'console/web';
const FIRST = `${WEB}/theme/styles.ts`;
/** A part of Checkbox that the console does not use. */
const UNUSED = 'CheckboxCard';
const LATER = `${WEB}/theme/later-styles.ts`;

const readStyles = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/styles\/(\S+)\.layer\.css'/g)].map(([, name]) => name!);

/** Files that these import statically, directly or indirectly. */
function followImports(starts: readonly string[], pattern: RegExp): Set<string> {
  const found = new Set<string>();
  const follow = (file: string) => {
    if (found.has(file) || !existsSync(file)) return;
    found.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(pattern)) follow(join(dirname(file), path!));
  };
  for (const start of starts) follow(start);
  return found;
}

const SOURCE_IMPORT = /(?:from|^import) '(\.[^']+\.tsx?)'/gm;

/** Mantine's components with styles that these files use, directly or within other components. */
function findStyles(files: Iterable<string>): Set<string> {
  const names = [...files].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(
      ([, list]) => list!.split(',').map((name) => name.trim()),
    ),
  );
  const components = names.map((name) => `${CODE}/components/${name}/${name}.mjs`);
  const modules = [...followImports(components, /from "(\.[^"]+)"/g)].map(
    (file) => /(\w+)\.module\.mjs$/.exec(file)?.[1] ?? '',
  );
  return new Set(modules.filter((name) => name !== UNUSED && existsSync(`${STYLES}/${name}.css`)));
}

describe("the styles of the console's page", () => {
  const first = readStyles(FIRST);
  const later = readStyles(LATER);
  const sources = globSync(`${WEB}/**/*.{ts,tsx}`, { exclude: (path) => path.includes('dist') });
  const firstFiles = followImports([`${WEB}/main.tsx`, `${WEB}/pages/deployments.tsx`], SOURCE_IMPORT);

  it('have those of each component of the first view', () => {
    const styled = findStyles(firstFiles);
    expect(styled.size).to.be.above(20);
    expect([...styled].filter((name) => !first.includes(name))).to.deep.equal([]);
  });

  it('have those of each component of other pages, in all that is loaded later', () => {
    const lazy = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/import\('(\.[^']+)'\)/g)].map(([, path]) =>
        join(dirname(file), path!),
      ),
    );
    expect(lazy.length).to.be.above(10);
    const lacking = lazy.filter((file) => {
      const files = followImports([file], SOURCE_IMPORT);
      const known = files.has(LATER) ? [...first, ...later] : first;
      return [...findStyles(files)].some((name) => !known.includes(name));
    });
    expect(lacking).to.deep.equal([]);
  });

  it('are in use', () => {
    const styled = findStyles(sources);
    const always = ['baseline', 'default-css-variables', 'global'];
    expect([...first, ...later].filter((name) => !styled.has(name) && !always.includes(name))).to.deep.equal(
      [],
    );
  });

  it("are in Mantine's order, since later ones override earlier ones", () => {
    const all = readFileSync('node_modules/@mantine/core/styles.css', 'utf8');
    for (const names of [first, later]) {
      const places = names.map((name) =>
        all.indexOf(readFileSync(`${STYLES}/${name}.css`, 'utf8').trim().slice(0, 60)),
      );
      expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
      expect(places).not.to.include(-1);
    }
  });
});
