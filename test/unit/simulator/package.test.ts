import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const { dependencies } = JSON.parse(readFileSync('simulator/package.json', 'utf8')) as {
  dependencies: Record<string, string>;
};
const OWN = /^(\.\/[\w-]+\.ts|node:.+)$/;

describe('the simulator as a package', () => {
  it('imports nothing but its own files and dependencies: its image holds no others', () => {
    const imported = globSync('simulator/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'([^']+)'/g)].map(([, name]) => name!),
    );
    const foreign = new Set(imported.filter((name) => !OWN.test(name) && !(name in dependencies)));
    expect([...foreign]).to.deep.equal([]);
  });
});
