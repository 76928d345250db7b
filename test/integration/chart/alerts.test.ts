import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { DASHBOARDS } from '../../../tools/generate/dashboards/grafana.ts';
import { findMetricNames, listMetricNames } from '../../support/metric-names.ts';
import { usePrometheus } from '../../support/prometheus.ts';
import { ALERT_CASES, LONG_STEP } from './alert-cases.ts';

const RULES = resolve('charts/berth/files/prometheus/alerts.yaml');

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: { severity: string };
  annotations?: { summary: string; runbook_url: string };
}

describe("the chart's alerts", () => {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  const findPromtool = usePrometheus('promtool');
  let folder: string;
  const expectSuccess = (...args: string[]) => {
    const { status, stdout, stderr, error } = spawnSync(findPromtool(), args, { encoding: 'utf8' });
    expect(status, error?.message ?? stdout + stderr).to.equal(0);
  };
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-alerts-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('have a case in this test and a runbook each, which the list of runbooks names', () => {
    const list = readFileSync('docs/runbooks/index.md', 'utf8');
    expect(alerts.map(({ alert }) => alert)).to.have.members(Object.keys(ALERT_CASES));
    for (const { alert, labels, annotations } of alerts) {
      const page = annotations!.runbook_url.replace('RUNBOOKS/', '');
      const text = readFileSync(`docs/runbooks/${page}.md`, 'utf8');
      expect(text).to.contain(`# ${alert}\n`).and.contain(`Severity: ${labels!.severity}`);
      expect(list).to.contain(`[${alert}](${page}.md) | ${labels!.severity} |`);
    }
    for (const [, page] of list.matchAll(/\]\((\S+\.md)\)/g))
      expect(existsSync(`docs/runbooks/${page}`)).to.equal(true);
  });

  it('name metrics that Berth exports', async () => {
    const known = await listMetricNames();
    for (const { expr } of rules)
      for (const name of findMetricNames(expr)) expect(known.has(name), name).to.equal(true);
  });

  it('have dashboards beside them whose queries Prometheus can read', () => {
    const queries = DASHBOARDS.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries));
    const records = queries.map(({ expr }, index) => ({
      record: `query:${index}`,
      // As Grafana would replace it; other variables, such as namespaces, are within quotes.
      expr: expr.replaceAll('$__rate_interval', '2m'),
    }));
    const file = join(folder, 'queries.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules: records }] }));
    expectSuccess('check', 'rules', file);
  });

  it('fire once each where they should, and stop', () => {
    const ask = (alert: string, minute: number, count: number) => ({
      expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
      eval_time: `${minute}m`,
      exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
    });
    const files = [1, LONG_STEP].map((step) => {
      const cases = Object.entries(ALERT_CASES).filter(([, { minutes = 1 }]) => minutes === step);
      const tests = cases.map(([alert, { series, before, firing, after }]) => ({
        name: alert,
        interval: `${step}m`,
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [ask(alert, before, 0), ask(alert, firing, 1), ask(alert, after, 0)],
      }));
      const file = join(folder, `${step}.json`);
      writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: `${step}m`, tests }));
      return file;
    });
    expectSuccess('test', 'rules', ...files);
  });
});
