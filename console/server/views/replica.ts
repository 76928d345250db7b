/** Pods of a deployment, as the page shows them. Pure. */
import { z } from 'zod';
import { CONTAINERS } from '../../../api/names.ts';
import type { ReplicaView } from '../../api.ts';
import type { KubeObject } from '../kubernetes/object.ts';

const text = z.string().catch('');
const terminated = z.object({
  reason: text,
  exitCode: z.number().catch(0),
  finishedAt: z.string().nullish().catch(null),
});
const containerStatus = z.object({
  name: text,
  restartCount: z.number().catch(0),
  state: z
    .object({
      waiting: z.object({ reason: text, message: text }).optional(),
      terminated: terminated.optional(),
    })
    .catch({}),
  lastState: z.object({ terminated: terminated.optional() }).catch({}),
});
const container = z.object({
  name: text,
  resources: z
    .object({ limits: z.record(z.string(), z.union([z.string(), z.number()])).optional() })
    .optional()
    .catch(undefined),
});
const condition = z.object({ type: text, status: text, reason: text, message: text });
const pod = z.object({
  metadata: z.object({
    name: text,
    creationTimestamp: text,
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({
    nodeName: z.string().optional(),
    containers: z.array(container).catch([]),
    initContainers: z.array(container).catch([]),
  }),
  status: z
    .object({
      phase: text,
      reason: text,
      message: text,
      conditions: z.array(condition).catch([]),
      containerStatuses: z.array(containerStatus).catch([]),
      initContainerStatuses: z.array(containerStatus).catch([]),
    })
    .catch({
      phase: '',
      reason: '',
      message: '',
      conditions: [],
      containerStatuses: [],
      initContainerStatuses: [],
    }),
});
type Pod = z.infer<typeof pod>;

/** undefined if it is not a pod. */
export function describeReplica(object: KubeObject): ReplicaView | undefined {
  const parsed = pod.safeParse(object);
  if (!parsed.success) return undefined;
  const { metadata, spec, status } = parsed.data;
  const statuses = [...status.initContainerStatuses, ...status.containerStatuses];
  const engine = status.containerStatuses.find(({ name }) => name === CONTAINERS.engine);
  const last = engine?.lastState.terminated ?? engine?.state.terminated;
  return {
    name: metadata.name,
    ...describeState(parsed.data),
    node: spec.nodeName ?? null,
    gpu: describeGPU(spec.containers),
    restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastExit: last ? { reason: last.reason, exitCode: last.exitCode, at: last.finishedAt ?? null } : null,
    createdAt: metadata.creationTimestamp,
    containers: [...spec.containers, ...spec.initContainers]
      .map(({ name }) => name)
      .sort((a, b) => Number(b === CONTAINERS.engine) - Number(a === CONTAINERS.engine)),
  };
}

/** Crash-looping, or waiting for something that needs intervention. */
const STUCK = /BackOff|^Err|Error|Invalid|NotInstalled/;

function describeState({ metadata, status }: Pod): Pick<ReplicaView, 'state' | 'message'> {
  const find = (type: string) => status.conditions.find((each) => each.type === type);
  const { phase } = status;
  if (metadata.deletionTimestamp !== undefined) return { state: 'terminating', message: '' };
  if (phase === 'Succeeded') return { state: 'exited', message: status.message || status.reason };
  if (phase === 'Failed') return { state: 'failing', message: status.message || status.reason };
  if (find('Ready')?.status === 'True') return { state: 'ready', message: '' };
  const scheduled = find('PodScheduled');
  if (scheduled?.status === 'False')
    return { state: 'pending', message: scheduled.message || scheduled.reason };
  for (const { name, state } of [...status.initContainerStatuses, ...status.containerStatuses]) {
    const { waiting, terminated } = state;
    if (waiting && STUCK.test(waiting.reason))
      return { state: 'failing', message: `${name}: ${waiting.message || waiting.reason}` };
    if (terminated && terminated.exitCode !== 0)
      return {
        state: 'failing',
        message: `${name}: ${terminated.reason || 'exited'} (exit code ${terminated.exitCode})`,
      };
  }
  return { state: scheduled ? 'starting' : 'pending', message: '' };
}

/** Extended resources, such as `nvidia.com/gpu`; not those of Kubernetes, such as `hugepages-2Mi`. */
function describeGPU(containers: Pod['spec']['containers']): string | null {
  const found = containers.flatMap(({ resources }) =>
    Object.entries(resources?.limits ?? {}).filter(([name]) => name.includes('/')),
  );
  return found.map(([name, count]) => `${count} × ${name}`).join(', ') || null;
}
