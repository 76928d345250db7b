/** The files of `examples/` in the order that a user applies them, and the outcome of each of their objects. */
import { globSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { API_VERSION, type Condition } from '../../api/kubernetes-types.ts';

export interface Example {
  file: string;
  /** Berth's objects, all in the namespace default. */
  objects: { kind: ExampleKind; name: string }[];
}

export type ExampleKind = 'ModelDeployment' | 'APIKey' | 'Workspace' | 'StorageCredential';

type Written = { apiVersion: string; kind: ExampleKind; metadata: { name: string } };

/** Those that a user applies one by one. */
export const listExamples = (): Example[] =>
  globSync('examples/*.yaml')
    .sort()
    .map((file) => ({
      file,
      objects: parseAllDocuments(readFileSync(file, 'utf8'))
        .map((document) => document.toJS() as Written)
        .filter(({ apiVersion }) => apiVersion === API_VERSION)
        .map(({ kind, metadata: { name } }) => ({ kind, name })),
    }));

/** Reasons during a start, which are not failures. */
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

export interface ExampleState {
  metadata: { generation?: number };
  status?: { observedGeneration?: number; conditions?: Condition[] };
}

/** `served`, or why it is not; undefined while undecided. */
export function describeOutcome({ metadata, status }: ExampleState): string | undefined {
  if (status?.observedGeneration !== metadata.generation) return undefined;
  const verdict = status?.conditions?.find(({ type }) => type === 'Ready');
  if (verdict?.status === 'True') return 'served';
  if (verdict?.status !== 'False' || PASSING.has(verdict.reason)) return undefined;
  return `${verdict.reason}: ${verdict.message}`;
}
