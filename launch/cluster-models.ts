/** Reads the ModelDeployments of a cluster, and waits for them, reporting obstacles. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelDeployment } from '../api/model-deployment.ts';
import { readCondition } from './conditions.ts';
import { type ClusterAccess, runKubectl } from './kubectl.ts';

const POLL_MS = 1_000;

/** Those of all namespaces, or one. */
export async function listModels(cluster: ClusterAccess, namespace?: string): Promise<ModelDeployment[]> {
  const scope = namespace ? ['-n', namespace] : ['-A'];
  const list = await runKubectl(cluster, ['get', 'modeldeployments', ...scope, '-o', 'json']);
  return JSON.parse(list).items;
}

/** As its current spec asks. */
export function isSettled(model: ModelDeployment): boolean {
  if (model.status?.observedGeneration !== model.metadata.generation) return false;
  return readCondition(model, 'Ready')?.status === 'True' && !readCondition(model, 'Reconciling');
}

/** Waits until all are settled and reports each change. Throws with the reasons after a timeout. */
export async function waitForModels(
  cluster: ClusterAccess,
  timeoutMs: number,
  report: (line: string) => void,
): Promise<ModelDeployment[]> {
  const deadline = Date.now() + timeoutMs;
  const reported = new Map<string, string>();
  for (;;) {
    const models = await listModels(cluster);
    for (const model of models) reportChange(model, reported, report);
    const waiting = models.filter((model) => !isSettled(model));
    if (models.length > 0 && waiting.length === 0) return models;
    if (Date.now() > deadline)
      throw new Error(`not ready after ${timeoutMs / 1000} s:\n${waiting.map(describeModel).join('\n')}`);
    await sleep(POLL_MS);
  }
}

function reportChange(
  model: ModelDeployment,
  reported: Map<string, string>,
  report: (line: string) => void,
): void {
  const line = describeModel(model);
  const key = model.metadata.uid ?? model.metadata.name;
  if (reported.get(key) === line) return;
  reported.set(key, line);
  report(line);
}

function describeModel(model: ModelDeployment): string {
  const { namespace, name } = model.metadata;
  const ready = readCondition(model, 'Ready');
  return `  ${namespace}/${name}: ${model.status?.phase ?? 'new'}${ready?.message ? `: ${ready.message}` : ''}`;
}
