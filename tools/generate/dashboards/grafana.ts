/** The Grafana dashboards of the chart. */
import { ONE_DEPLOYMENT } from './deployment.ts';
import { FLEET } from './fleet.ts';
import { OPERATOR } from './operator.ts';
import type { DashboardDefinition, PanelDefinition } from './queries.ts';
import { QUEUE } from './queue.ts';
import { WORKSPACE } from './workspace.ts';

export const DASHBOARDS: readonly DashboardDefinition[] = [FLEET, ONE_DEPLOYMENT, WORKSPACE, QUEUE, OPERATOR];

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
const COLUMNS = 3;
const GRID_WIDTH = 24;
const STAT_HEIGHT = 4;
const PANEL_HEIGHT = 8;
/** Version of Grafana 10, which later ones read. */
const SCHEMA_VERSION = 38;

/** File names with their contents. */
export function writeDashboards(): [string, string][] {
  return DASHBOARDS.map((dashboard) => [
    `charts/berth/files/dashboards/${dashboard.name}.json`,
    `${JSON.stringify(buildDashboard(dashboard), null, 2)}\n`,
  ]);
}

function buildDashboard({ name, title, variables, panels }: DashboardDefinition): object {
  return {
    uid: `berth-${name}`,
    title: `Berth / ${title}`,
    tags: ['berth'],
    schemaVersion: SCHEMA_VERSION,
    timezone: 'browser',
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [buildDatasource(), ...variables.map(buildVariable)] },
    links: [{ type: 'dashboards', title: 'Berth', tags: ['berth'], asDropdown: true, includeVars: true }],
    panels: placePanels(panels),
  };
}

const buildDatasource = () => ({
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
});

const buildVariable = ({ name, query }: { name: string; query: string }) => ({
  name,
  label: name,
  type: 'query',
  datasource: DATASOURCE,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  sort: 1,
});

/** Rows of one height, from left to right. */
function placePanels(panels: readonly PanelDefinition[]): object[] {
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  return panels.map((panel, index) => {
    const isStat = panel.type === 'stat';
    const width = isStat ? GRID_WIDTH / 6 : GRID_WIDTH / COLUMNS;
    const height = isStat ? STAT_HEIGHT : PANEL_HEIGHT;
    if (x + width > GRID_WIDTH || (rowHeight !== 0 && rowHeight !== height)) {
      x = 0;
      y += rowHeight;
    }
    rowHeight = height;
    const gridPos = { x, y, w: width, h: height };
    x += width;
    return buildPanel(panel, index + 1, gridPos);
  });
}

function buildPanel(panel: PanelDefinition, id: number, gridPos: object): object {
  const { title, description, type = 'timeseries', unit = 'short', max, queries } = panel;
  const isInstant = type === 'table';
  return {
    id,
    type,
    title,
    ...(description && { description }),
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, ...(max !== undefined && { max }) }, overrides: [] },
    options:
      type === 'timeseries'
        ? { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
        : {},
    ...(isInstant && { transformations: [{ id: 'labelsToFields' }, { id: 'merge' }] }),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      exemplar: expr.includes('_bucket'),
      ...(isInstant ? { instant: true, format: 'table' } : { range: true }),
    })),
  };
}
