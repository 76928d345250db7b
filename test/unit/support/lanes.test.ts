import { globSync } from 'node:fs';
import { expect } from 'chai';
import { planFiles } from '../../e2e/lanes.ts';

const pathOf = (name: string) => `test/e2e/${name}.test.ts`;

describe('the plan of end-to-end tests', () => {
  it('runs each file once, and upgrades and uninstalls at the end', () => {
    const files = globSync('test/e2e/*.test.ts');
    const phases = planFiles(files);
    expect(phases.flat(2).sort()).to.deep.equal(files.sort());
    expect(phases.at(-1)).to.have.length(1);
    expect(phases.at(-1)![0]!.at(-1)).to.equal(pathOf('uninstall'));
  });

  it('runs lanes side by side, then those beside attacks, and then alone what no lane names', () => {
    const names = ['uninstall', 'chart', 'newcomer', 'hpa', 'ingress', 'autoscaling', 'chat', 'attacks'];
    expect(planFiles(names.map(pathOf))).to.deep.equal(
      [
        [['hpa'], ['autoscaling'], ['chat']],
        [['attacks'], ['ingress']],
        [['newcomer', 'chart', 'uninstall']],
      ].map((phase) => phase.map((lane) => lane.map(pathOf))),
    );
  });

  it('has no phase and no lane without files', () => {
    expect(planFiles([pathOf('operator')])).to.deep.equal([[[pathOf('operator')]]]);
    expect(planFiles([])).to.deep.equal([]);
  });
});
