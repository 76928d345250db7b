/** A Prometheus that scrapes a `make run` by the chart's PodMonitors. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import type { KubeClient } from '../../kube/client.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { planPorts } from '../../launch/local-plan.ts';
import type { LocalStack } from './local-stack.ts';
import { describeTargets, readScrapeConfig } from './pod-monitors.ts';
import { type RunningPrometheus, startPrometheus } from './running-prometheus.ts';

export interface LocalPrometheusOptions {
  /** Path of Prometheus. */
  program: string;
  stack: LocalStack;
  /** Client for the stack's objects. */
  client: Pick<KubeClient, 'list'>;
  /** Path of the rules. */
  ruleFile: string;
}

/** Later pods are scraped from the next `tellTargets` on. */
export async function startLocalPrometheus({
  program,
  stack,
  client,
  ruleFile,
}: LocalPrometheusOptions): Promise<RunningPrometheus & { tellTargets: () => Promise<void> }> {
  const path = join(stack.folder, 'targets.json');
  const tellTargets = async () => {
    const { items } = await client.list(RESOURCES.Pod);
    writeFileSync(`${path}.new`, JSON.stringify(describeTargets(items as unknown as V1Pod[])));
    renameSync(`${path}.new`, path);
  };
  await tellTargets();
  const ports = planPorts(Number(new URL(stack.endpoints.unknownURL).port));
  const scrape = (job_name: string, port: number) => ({
    ...readScrapeConfig('component'),
    relabel_configs: [],
    job_name,
    static_configs: [{ targets: [`127.0.0.1:${port}`] }],
  });
  const discovered = { file_sd_configs: [{ files: [path], refresh_interval: '1s' }] };
  const prometheus = await startPrometheus(program, {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [ruleFile],
    scrape_configs: [
      scrape('operator', ports.operatorMetrics),
      scrape('front', ports.metrics),
      scrape('console', ports.consoleMetrics),
      { ...readScrapeConfig('models'), ...discovered },
      // Sidecars wait for their engine for 2 s.
      { ...readScrapeConfig('engines'), ...discovered, scrape_interval: '3s', scrape_timeout: '3s' },
    ],
  });
  return { ...prometheus, tellTargets };
}
