/** The chart's PodMonitors as scrape configurations, as the Prometheus operator would write them. */
import { readFileSync } from 'node:fs';
import type { V1Pod } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';

const TEMPLATE = 'charts/berth/templates/service-monitor.yaml';

interface PodMonitor {
  metadata: { name: string };
  spec: {
    selector: { matchLabels: Record<string, string> };
    podMetricsEndpoints: {
      port: string;
      path?: string;
      honorLabels?: boolean;
      metricRelabelings?: object[];
    }[];
  };
}

export interface ScrapeConfig {
  job_name: string;
  honor_labels: boolean;
  metrics_path: string;
  relabel_configs: object[];
  metric_relabel_configs: object[];
}

/** `part`: the end of the PodMonitor's name: `models`, `engines`, or `component` for the operator, fronts and the console. */
export function readScrapeConfig(part: string): ScrapeConfig {
  // The same in all installations, so it need not be rendered by Helm.
  const text = readFileSync(TEMPLATE, 'utf8')
    .replaceAll(/^\{\{.*\}\}$/gm, '')
    .replaceAll(/\{\{[^}]*\}\}/g, 'x')
    .replaceAll('x-x', 'x-component')
    .replaceAll(/^( +(?:labels|matchLabels)): x$/gm, '$1: {}');
  const monitors = parseAllDocuments(text).flatMap((each) => (each.toJS() as PodMonitor | null) ?? []);
  const { spec } = monitors.find(({ metadata }) => metadata.name.endsWith(`-${part}`))!;
  const [endpoint] = spec.podMetricsEndpoints;
  const { port, path = '/metrics', honorLabels = false, metricRelabelings = [] } = endpoint!;
  const keep = (source: string, regex: string) => ({ action: 'keep', source_labels: [source], regex });
  const copy = (source: string, target: string) => ({ source_labels: [source], target_label: target });
  return {
    job_name: part,
    honor_labels: honorLabels,
    metrics_path: path,
    relabel_configs: [
      ...Object.entries(spec.selector.matchLabels).map(([label, value]) => keep(nameLabel(label), value)),
      keep('__meta_kubernetes_pod_container_port_name', port),
      copy('__meta_kubernetes_namespace', 'namespace'),
      copy('__meta_kubernetes_pod_container_name', 'container'),
      copy('__meta_kubernetes_pod_name', 'pod'),
    ],
    metric_relabel_configs: metricRelabelings,
  };
}

const nameLabel = (label: string): string => `__meta_kubernetes_pod_label_${label.replaceAll(/\W/g, '_')}`;

/** As Prometheus' discovery of pods, which Debian's build lacks: a target for each port. */
export const describeTargets = (pods: readonly V1Pod[]): { targets: string[]; labels: object }[] =>
  pods.flatMap(({ metadata = {}, spec, status }) =>
    [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ name, ports = [] }) =>
      ports.flatMap(({ name: port = '', containerPort }) => {
        if (!status?.podIP) return [];
        const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => [nameLabel(key), value]);
        return {
          targets: [`${status.podIP}:${containerPort}`],
          labels: {
            ...Object.fromEntries(labels),
            __meta_kubernetes_namespace: metadata.namespace,
            __meta_kubernetes_pod_name: metadata.name,
            __meta_kubernetes_pod_container_name: name,
            __meta_kubernetes_pod_container_port_name: port,
          },
        };
      }),
    ),
  );
