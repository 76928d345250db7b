/** The slices by which a deployment's Service routes to the front while none of its own pods can respond. */
import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { childNames, HTTP_PORT_NAME, LABELS, MANAGED_BY, PORTS } from '../../api/names.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const SLICE_MANAGER_LABEL = 'endpointslice.kubernetes.io/managed-by';

const FAMILIES = ['IPv4', 'IPv6'] as const;
export type AddressFamily = (typeof FAMILIES)[number];

/** The fronts that can respond now, by address family. */
export type Fronts = Record<AddressFamily, readonly { address: string; nodeName?: string }[]>;

/**
 * Reads the slices of the front's Service: ready and not terminating, in a stable order. If none is ready, those that are
 * not: an empty slice is useless, and after an outage of the API server fronts serve before they count as ready again.
 */
export function collectFronts(slices: readonly Wire<V1EndpointSlice>[]): Fronts {
  const collect = (family: AddressFamily) => {
    const staying = slices
      .filter(({ addressType }) => addressType === family)
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.terminating !== true);
    const ready = staying.filter(({ conditions }) => conditions?.ready !== false);
    const found = new Map<string, { address: string; nodeName?: string }>();
    for (const { addresses, nodeName } of ready.length > 0 ? ready : staying)
      for (const address of addresses) found.set(address, nodeName ? { address, nodeName } : { address });
    return [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  };
  return { IPv4: collect('IPv4'), IPv6: collect('IPv6') };
}

/**
 * `Serving`: the front receives requests beside whatever else is ready, as before a planned removal of the last pod.
 * `Standby`: it receives them only while nothing is ready, as soon as a node's proxy sees that: it
 * falls back to endpoints that serve while terminating (KEP-1669), so the front is marked as one (decision 0114).
 */
export type FrontRole = 'Serving' | 'Standby';

const CONDITIONS = {
  Serving: { ready: true, serving: true, terminating: false },
  Standby: { ready: false, serving: true, terminating: true },
} as const satisfies Record<FrontRole, object>;

/** One slice for each address family of the Service, owned by it. */
export function buildFrontSlices(
  name: string,
  service: Wire<V1Service>,
  fronts: Fronts,
  role: FrontRole,
): KubeObject[] {
  const families = (service.spec?.ipFamilies ?? ['IPv4']) as AddressFamily[];
  return families.map((family) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: frontSliceName(name, family),
      namespace: service.metadata.namespace,
      labels: {
        [SERVICE_NAME_LABEL]: service.metadata.name,
        [SLICE_MANAGER_LABEL]: MANAGED_BY,
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.deployment]: name,
      },
    },
    addressType: family,
    endpoints: fronts[family].map(({ address, nodeName }) => ({
      addresses: [address],
      conditions: CONDITIONS[role],
      ...(nodeName ? { nodeName } : {}),
    })),
    ports: [{ name: portName(service), port: PORTS.http, protocol: 'TCP' }],
  }));
}

/** Proxies match slices of one Service by port name. */
const portName = (service: Wire<V1Service>): string => service.spec?.ports?.[0]?.name ?? HTTP_PORT_NAME;

const frontSliceName = (name: string, family: AddressFamily): string =>
  family === 'IPv4' ? childNames(name).frontSlice : `${childNames(name).frontSlice}-ipv6`;

export const frontSliceNames = (name: string): string[] =>
  FAMILIES.map((family) => frontSliceName(name, family));

/** Inputs to whether the front has to stand in. */
export interface Standing {
  /** When each ready, non-terminating pod became ready, in Unix milliseconds. */
  readySince: readonly number[];
  desiredReplicas: number;
  deleting: boolean;
  /** A rollout in progress, or about to start, may remove so many ready pods at once. */
  rollingAway: number;
  now: number;
}

/** The Service's own slice follows a pod's readiness with a delay: the front stays that long. */
const SETTLE_MS = 2_000;

/** Whether the front has to serve now, else it stands by; `recheckAfterMs` while the result depends on time. */
export function evaluateFront(standing: Standing): { needed: boolean; recheckAfterMs?: number } {
  const { readySince, desiredReplicas, deleting, rollingAway, now } = standing;
  if (deleting || desiredReplicas === 0 || readySince.length <= rollingAway) return { needed: true };
  const wait = Math.min(...readySince) + SETTLE_MS - now;
  return wait > 0 ? { needed: true, recheckAfterMs: Math.min(wait, SETTLE_MS) } : { needed: false };
}

/** When a pod became ready; undefined while it is not, or is terminating. */
export function readySince(pod: {
  metadata?: { deletionTimestamp?: unknown };
  status?: { conditions?: { type: string; status: string; lastTransitionTime?: string | Date }[] };
}): number | undefined {
  if (pod.metadata?.deletionTimestamp !== undefined) return undefined;
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? toMillis(ready.lastTransitionTime) : undefined;
}
