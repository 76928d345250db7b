/** Why Kueue holds pods back, in its own words: a pod shows only its scheduling gates, its Workload says which quota is missing. */
import type { V1Pod } from '@kubernetes/client-node';
import { LRUCache } from 'lru-cache';
import { KUEUE } from '../../api/names.ts';
import { isForbidden, isNotFound } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Resource } from '../../kube/resource.ts';
import { truncateText } from '../status/crash-cause.ts';

type Workload = KubeObject & {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
};

const workloads = (version: string): Resource => ({
  apiVersion: `kueue.x-k8s.io/${version}`,
  kind: 'Workload',
  plural: 'workloads',
  namespaced: true,
});
/** Kueue 0.15 and later serve the first one. */
const VERSIONS = [workloads('v1beta2'), workloads('v1beta1')];

/** Workloads are not watched, since a cluster may lack them. A pod that changes several times within this time is not worth another read. */
const FRESH_MS = 5_000;
/** Kueue may be installed, or its objects be made readable, at any time. */
const ABSENT_MS = 600_000;
const TIMEOUT_MS = 5_000;
const MAX_PODS = 10_000;

export class QuotaReasons {
  readonly #options: { client: Pick<KubeClient, 'list'>; now: () => number; log: Log };
  /** By uid of a pod. */
  readonly #known = new LRUCache<string, { reason: string | undefined; readAt: number }>({ max: MAX_PODS });
  /** Unix milliseconds. */
  #absentUntil = 0;

  constructor(options: { client: Pick<KubeClient, 'list'>; now: () => number; log: Log }) {
    this.#options = options;
  }

  /** The sentence of the pod's Workload; undefined if there is none, or none is readable. Never throws. */
  async read({ metadata }: V1Pod, signal: AbortSignal): Promise<string | undefined> {
    const { uid = '', namespace } = metadata!;
    const now = this.#options.now();
    const known = this.#known.get(uid);
    if (now < this.#absentUntil || (known && now - known.readAt < FRESH_MS)) return known?.reason;
    const reason = await this.#find(uid, namespace!, signal).catch((err: Error) => {
      this.#options.log.warn({ namespace, err }, "could not read a pod's Workload");
      return known?.reason;
    });
    this.#known.set(uid, { reason, readAt: now });
    return reason;
  }

  async #find(uid: string, namespace: string, signal: AbortSignal): Promise<string | undefined> {
    const selection = { namespace, labelSelector: `${KUEUE.podUID}=${uid}`, limit: 1 };
    for (const resource of VERSIONS)
      try {
        const call = { ...selection, signal, timeoutMs: TIMEOUT_MS };
        const { items } = await this.#options.client.list<Workload>(resource, call);
        return items[0] && describeWait(items[0]);
      } catch (error) {
        if (!isNotFound(error) && !isForbidden(error)) throw error;
      }
    this.#absentUntil = this.#options.now() + ABSENT_MS;
    return undefined;
  }
}

/** The first step that is missing: quota, then the checks of the queue. */
function describeWait({ status }: Workload): string | undefined {
  for (const type of ['QuotaReserved', 'Admitted']) {
    const condition = status?.conditions?.find((each) => each.type === type);
    if (condition?.status === 'False' && condition.message) return truncateText(condition.message);
  }
  return undefined;
}
