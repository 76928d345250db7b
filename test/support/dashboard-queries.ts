/** Queries of the dashboards and alerts, for a real Prometheus. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { DASHBOARDS } from '../../tools/generate/dashboards/grafana.ts';
import { GPU_ENGINE_METRICS } from './metric-names.ts';
import type { RunningPrometheus, Sample } from './running-prometheus.ts';

export const ALERTS = 'charts/berth/files/prometheus/alerts.yaml';
/** Instead of Grafana's, which depends on the scrape interval. */
const RATE_INTERVAL = '30s';
const SELECTORS = /\b(?:berth[_:]|gen_ai_)[\w:]+(?:\{[^}]*\})?/g;
/** Selectors of faults, whose series exist only after a fault. */
const FAULT = /outcome=|phase=|condition=|error_type=/;

export interface AskedQuery {
  place: string;
  expr: string;
  mayBeEmpty: boolean;
  found: Sample[];
}

export interface RuleFile {
  groups: { name: string; rules: { alert?: string; record?: string; expr: string; for?: string }[] }[];
}

export const readAlerts = (): RuleFile => parse(readFileSync(ALERTS, 'utf8')) as RuleFile;

/** Queries of all panels, and of all alerts and recording rules. */
export const listQueries = (): AskedQuery[] => [...listPanelQueries(), ...listRuleQueries()];

const isOfGPU = (expr: string): boolean => GPU_ENGINE_METRICS.some((name) => expr.includes(name));

const listPanelQueries = (): AskedQuery[] =>
  DASHBOARDS.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map(({ expr }) => ({ place: `${name}: ${title}`, expr, mayBeEmpty: isOfGPU(expr), found: [] })),
    ),
  );

/** An alert that does not fire returns nothing, so its selectors are queried; of a fault, only the metric. */
const listRuleQueries = (): AskedQuery[] =>
  readAlerts().groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, record, expr }) =>
      [...new Set(expr.match(SELECTORS))].flatMap((selector) => {
        const place = `rule: ${alert ?? record}`;
        const metric = selector.replace(/\{.*/, '');
        const mayBeEmpty = FAULT.test(selector);
        return [
          { place, expr: selector, mayBeEmpty, found: [] },
          ...(mayBeEmpty ? [{ place, expr: metric, mayBeEmpty: false, found: [] }] : []),
        ];
      }),
    ),
  );

export interface Question {
  /** Values of the dashboards' variables; any of these deployments may have the data. */
  namespace: string;
  deployments: readonly string[];
  /** Before each round of queries. */
  work: () => Promise<void>;
  timeoutMs: number;
}

/** Repeats the queries until all have data, except those that may be empty. Returns those without. */
export async function askUntilAnswered(
  prometheus: RunningPrometheus,
  asked: readonly AskedQuery[],
  { namespace, deployments, work, timeoutMs }: Question,
): Promise<string[]> {
  const fillIn = (expr: string, deployment: string) =>
    expr
      .replaceAll('$__rate_interval', RATE_INTERVAL)
      .replaceAll('$namespace', namespace)
      .replaceAll('$deployment', deployment);
  const ask = async (query: AskedQuery) => {
    for (const deployment of deployments) {
      const samples = await prometheus.query(fillIn(query.expr, deployment));
      // A quantile of no samples is NaN.
      query.found = samples.filter(({ value }) => Number.isFinite(value));
      if (query.found.length > 0) return;
    }
  };
  const listEmpty = () => asked.filter(({ mayBeEmpty, found }) => !mayBeEmpty && found.length === 0);
  const end = performance.now() + timeoutMs;
  do {
    await work();
    for (const query of asked.filter(({ found }) => found.length === 0)) await ask(query);
  } while (listEmpty().length > 0 && performance.now() < end);
  return listEmpty().map(({ place, expr }) => `${place}: ${expr}`);
}

/** Writes each query and its result as Markdown if PROMETHEUS_TABLE names a file. */
export function writeTable(asked: readonly AskedQuery[]): void {
  const path = process.env.PROMETHEUS_TABLE;
  if (!path) return;
  const rows = asked.map(({ place, expr, found }) => {
    const { metric = {}, value } = found[0] ?? {};
    const labels = Object.entries(metric).map(([name, text]) => `${name}=${text}`);
    const count = found.length === 1 ? '1 series:' : `${found.length} series, such as`;
    const result = found.length > 0 ? [count, ...labels, value].join(' ') : 'none: no such fault occurred';
    const query = expr.trim().replaceAll('|', '\\|').replaceAll('\n', ' ');
    return `| ${place} | \`${query}\` | ${result} |`;
  });
  writeFileSync(path, ['| Panel or rule | Query | Result |', '|---|---|---|', ...rows, ''].join('\n'));
}
