import { expect } from 'chai';
import { DASHBOARDS, writeDashboards } from '../../../tools/generate/dashboards/grafana.ts';
import { findMetricNames, listMetricNames } from '../../support/metric-names.ts';

describe('the dashboards', () => {
  it('ask for metrics that Berth exports, and nothing else', async () => {
    const known = await listMetricNames();
    for (const { name, panels } of DASHBOARDS)
      for (const { title, queries } of panels)
        for (const { expr } of queries) {
          const names = findMetricNames(expr);
          expect(names, `${name}: ${title}`).to.not.deep.equal([]);
          for (const metric of names)
            expect(known.has(metric), `${name}: ${title}: ${metric}`).to.equal(true);
        }
  });

  it('fill rows of 24 columns, each panel where no other is', () => {
    for (const [path, text] of writeDashboards()) {
      const { panels } = JSON.parse(text) as {
        panels: { gridPos: { x: number; y: number; w: number; h: number } }[];
      };
      const taken = new Set<string>();
      for (const { gridPos } of panels)
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
            expect(x, path).to.be.below(24);
            expect(taken.has(`${x},${y}`), path).to.equal(false);
            taken.add(`${x},${y}`);
          }
    }
  });
});
