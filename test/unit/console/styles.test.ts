import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const STYLES = 'node_modules/@mantine/core/styles';

describe("the styles of the console's page", () => {
  const imported = [...readFileSync('console/web/styles.ts', 'utf8').matchAll(/styles\/(\S+\.css)'/g)].map(
    ([, file]) => file!,
  );

  it('have those of each component that the page uses', () => {
    const files = globSync('console/web/**/*.tsx', { exclude: (path) => path.includes('dist') });
    const components = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(
        ([, names]) => names!.split(',').map((name) => name.trim()),
      ),
    );
    const styled = new Set(
      components.map((name) => `${name}.css`).filter((file) => existsSync(`${STYLES}/${file}`)),
    );
    expect(styled.size).to.be.above(20);
    expect([...styled].filter((file) => !imported.includes(file))).to.deep.equal([]);
  });

  it("are in Mantine's order, since later ones override earlier ones", () => {
    const all = readFileSync('node_modules/@mantine/core/styles.css', 'utf8');
    const places = imported.map((file) =>
      all.indexOf(readFileSync(`${STYLES}/${file}`, 'utf8').trim().slice(0, 60)),
    );
    expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
    expect(places).not.to.include(-1);
  });
});
