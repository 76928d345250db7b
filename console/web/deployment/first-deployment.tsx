/** Shown in a namespace without deployments. */
import { Code } from '@mantine/core';
import { useNamespace } from '../client/namespace.ts';
import { Copyable } from '../parts/copyable.tsx';
import { EmptyState } from '../parts/page-states.tsx';

/** Needs no GPU and no download. */
const buildManifest = (namespace: string): string => `apiVersion: berth.dev/v1alpha1
kind: ModelDeployment
metadata:
  name: first
  namespace: ${namespace}
spec:
  kind: LLM
  model:
    id: berth/first
  engine:
    preset: simulator
  resources:
    requests: { cpu: 50m, memory: 64Mi }
    limits: { memory: 256Mi }`;

export function FirstDeployment() {
  const namespace = useNamespace();
  return (
    <EmptyState title="No deployments yet">
      Deploy a model with “New deployment”. Or save this as <Code>first.yaml</Code> and run{' '}
      <Code>kubectl apply -f first.yaml</Code>. It runs a simulated model and needs no GPU; for a real model,
      set another engine preset.
      <div style={{ textAlign: 'left', marginTop: '1rem' }}>
        <Copyable text={buildManifest(namespace)} label="manifest" />
      </div>
    </EmptyState>
  );
}
