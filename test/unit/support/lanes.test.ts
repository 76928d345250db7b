import { globSync } from 'node:fs';
import { expect } from 'chai';
import { planFiles } from '../../e2e/lanes.ts';

const pathOf = (name: string) => `test/e2e/${name}.test.ts`;

describe('the plan of end-to-end tests', () => {
  it('runs each file once, and upgrades and uninstalls at the end', () => {
    const files = globSync('test/e2e/*.test.ts');
    const { lanes, alone } = planFiles(files);
    expect([...lanes.flat(), ...alone].sort()).to.deep.equal(files.sort());
    expect(alone.at(-1)).to.equal(pathOf('uninstall'));
  });

  it('runs alone what no lane names', () => {
    const plan = planFiles(['uninstall', 'chart', 'newcomer', 'hpa', 'stress', 'limits', 'chat'].map(pathOf));
    expect(plan).to.deep.equal({
      lanes: [['hpa', 'limits'].map(pathOf), ['chat'].map(pathOf)],
      alone: ['newcomer', 'stress', 'chart', 'uninstall'].map(pathOf),
    });
  });

  it('has no lane without files', () => {
    expect(planFiles([pathOf('operator')])).to.deep.equal({ lanes: [], alone: [pathOf('operator')] });
  });
});
