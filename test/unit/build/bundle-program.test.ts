import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { PROGRAMS } from '../../../bundle-program.ts';

describe('the programs of the image', () => {
  const SOURCES = '{charts/berth/templates,operator/resources}/**/*.{yaml,ts}';
  const started = globSync(SOURCES).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/args: \['?([\w/-]+\.js)'?\]/g)].map(([, script]) => script!),
  );

  it('are what the chart and the operator start', () => {
    const built = Object.keys(PROGRAMS).map((folder) => `${folder}/main.js`);
    expect([...new Set(started)].sort()).to.deep.equal(built.sort());
  });
});
