/** A namespace for tests of metrics, and a Prometheus that scrapes all pods of the cluster by the chart's PodMonitors. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { API_KEY_SECRET_FIELD, apiKeySecretName } from '../../api/names.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { RELEASE_NAMESPACE } from '../../launch/release.ts';
import { describeTargets, readScrapeConfig } from '../support/pod-monitors.ts';
import { ensurePrometheus } from '../support/prometheus.ts';
import { type RunningPrometheus, startPrometheus } from '../support/running-prometheus.ts';
import { apply, findEndpoint, kubectl, listPods, readObject } from './installation.ts';

const KEY = 'own';
const TARGETS_MS = 1_000;
/** See examples/cluster/models.yaml. */
export const CONTROL = [
  { name: 'SIMULATOR_CONTROL_HOST', value: '::' },
  { name: 'SIMULATOR_CONTROL_PORT', value: '9100' },
];

/** Makes it with a key, whose secret is the answer, and these objects. */
export async function makeNamespace(namespace: string, objects: readonly object[]): Promise<string> {
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: KEY, namespace },
      spec: { rpm: 100_000, tpd: 100_000_000 },
    },
    ...objects,
  );
  await kubectl('wait', `apikey/${KEY}`, '-n', namespace, '--for=condition=Ready', '--timeout=60s');
  type Secret = { data: Record<string, string> };
  const { data } = await readObject<Secret>('Secret', apiKeySecretName(KEY), namespace);
  return Buffer.from(data[API_KEY_SECRET_FIELD]!, 'base64').toString();
}

export async function removeNamespace(namespace: string): Promise<void> {
  await kubectl('delete', 'modeldeployments', '--all', '-n', namespace, '--timeout=120s');
  await kubectl('delete', 'namespace', namespace, '--wait=false');
}

export const describeEndpoint = (name: string, namespace: string, apiKey: string): EndpointEntry => {
  const example = findEndpoint('tiny-chat');
  return {
    ...example,
    name,
    namespace,
    modelId: name,
    apiKey,
    baseURL: example.baseURL.replace('tiny-chat--default', `${name}--${namespace}`),
    simulatorURL: null,
    simulatorURLs: null,
  };
};

/** `ruleFile`: a path. Its targets follow the cluster's pods. */
export async function watchCluster(ruleFile: string): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-targets-'));
  const path = join(folder, 'targets.json');
  const tellTargets = async () => {
    const pods = await listPods('app.kubernetes.io/managed-by=berth', '');
    const programs = await listPods('app.kubernetes.io/name=berth', RELEASE_NAMESPACE);
    const running = [...pods, ...programs].filter(({ metadata }) => !metadata.deletionTimestamp);
    writeFileSync(`${path}.new`, JSON.stringify(describeTargets(running as unknown as V1Pod[])));
    renameSync(`${path}.new`, path);
  };
  await tellTargets();
  const discovered = { file_sd_configs: [{ files: [path], refresh_interval: '1s' }] };
  const prometheus = await startPrometheus(ensurePrometheus('prometheus'), {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [ruleFile],
    scrape_configs: [
      ...['operator', 'front', 'console'].map((component) => ({
        ...discovered,
        ...readComponentConfig(component),
      })),
      { ...discovered, ...readScrapeConfig('models') },
      { ...discovered, ...readScrapeConfig('engines') },
    ],
  });
  let isStopped = false;
  const following = (async () => {
    while (!isStopped) {
      await new Promise((resolve) => setTimeout(resolve, TARGETS_MS));
      // It is read again.
      await tellTargets().catch(() => {});
    }
  })();
  return {
    ...prometheus,
    stop: async () => {
      isStopped = true;
      await following;
      await prometheus.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readComponentConfig(component: string) {
  const config = readScrapeConfig('component');
  const label = '__meta_kubernetes_pod_label_app_kubernetes_io_component';
  const own = { action: 'keep', source_labels: [label], regex: component };
  return { ...config, job_name: component, relabel_configs: [own, ...config.relabel_configs] };
}
