/** The files of `examples/` as a person applies them, and what became of each. */
import { globSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { ModelDeployment } from '../../api/model-deployment.ts';

export interface Example {
  file: string;
  /** Names of its ModelDeployments, all in the namespace default. */
  models: string[];
}

/** Those that a person applies one by one. */
export const listExamples = (): Example[] =>
  globSync('examples/*.yaml')
    .sort()
    .map((file) => ({
      file,
      models: parseAllDocuments(readFileSync(file, 'utf8'))
        .map((document) => document.toJS() as { kind: string; metadata: { name: string } })
        .filter(({ kind }) => kind === 'ModelDeployment')
        .map(({ metadata }) => metadata.name),
    }));

/** What a start passes through: none of them is a reason why a model is not served. */
const PASSING: ReadonlySet<string | undefined> = new Set([
  undefined,
  'Starting',
  'NotStarted',
  'Pulling',
  'NoReplicaReady',
  'Progressing',
  'NotPublished',
  'ContainerCreating',
  'PodInitializing',
]);

/** `served`, or why it is not; undefined while that is open. */
export function describeOutcome({ metadata, status }: ModelDeployment): string | undefined {
  if (status?.observedGeneration !== metadata.generation) return undefined;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True') return 'served';
  if (ready?.status !== 'False' || PASSING.has(ready.reason)) return undefined;
  return `${ready.reason}: ${ready.message}`;
}
