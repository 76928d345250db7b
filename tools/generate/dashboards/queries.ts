/** What a dashboard is made of: panels with their queries, of the metrics in docs/metrics.md. */

export interface PanelQuery {
  expr: string;
  legend: string;
}

export interface PanelDefinition {
  title: string;
  description?: string;
  type?: 'timeseries' | 'stat' | 'table';
  /** As Grafana names it. */
  unit?: string;
  max?: number;
  queries: readonly PanelQuery[];
}

export interface DashboardDefinition {
  name: string;
  title: string;
  variables: readonly { name: string; query: string }[];
  panels: readonly PanelDefinition[];
}

export const query = (expr: string, legend = ''): PanelQuery => ({ expr, legend });
export const RATE = '[$__rate_interval]';

export const rateOf = (metric: string, by: string, where = ''): string =>
  `sum by (${by}) (rate(${metric}${where && `{${where}}`}${RATE}))`;
export const quantile = (share: number, metric: string, by: string, where = ''): string =>
  `histogram_quantile(${share}, sum by (${['le', ...(by ? [by] : [])].join(', ')}) (rate(${metric}_bucket${where && `{${where}}`}${RATE})))`;

export const ROUTED = 'route!="none"';
export const SERVER_ERRORS = `${ROUTED}, code=~"5.."`;

export const NAMESPACE = {
  name: 'namespace',
  query: 'label_values(berth_gateway_requests_inflight, namespace)',
};
export const DEPLOYMENT = {
  name: 'deployment',
  query: 'label_values(berth_gateway_requests_inflight{namespace="$namespace"}, deployment)',
};
export const IN_WORKSPACE = 'namespace="$namespace"';
export const OF_DEPLOYMENT = 'namespace="$namespace", deployment="$deployment"';

export const quantiles = (metric: string, where: string): PanelQuery[] =>
  [0.5, 0.95, 0.99].map((share) => query(quantile(share, metric, '', where), `p${share * 100}`));
