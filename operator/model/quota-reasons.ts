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
const VERSIONS: readonly Resource[] = [workloads('v1beta2'), workloads('v1beta1')];

/** Workloads are not watched, since a cluster may lack them. A pod that changes several times within this time is not worth another read. */
const FRESH_MS = 5_000;
/** Kueue may be installed, or its objects be made readable, at any time. */
const ABSENT_MS = 600_000;
/** After an API server that fails or does not answer. */
const PAUSE_MS = 30_000;
const TIMEOUT_MS = 5_000;
const MAX_PODS = 10_000;
const MAX_NAMESPACES = 1_000;

export class QuotaReasons {
  readonly #options: { client: Pick<KubeClient, 'list'>; now: () => number; log: Log };
  /** By uid of a pod. */
  readonly #known = new LRUCache<string, { reason: string | undefined; readAt: number }>({ max: MAX_PODS });
  /** Unix milliseconds until which nothing is asked of a namespace, and of all of them. */
  readonly #absentUntil = new LRUCache<string, number>({ max: MAX_NAMESPACES });
  #pausedUntil = 0;
  /** Since the last answer. */
  #hasFailed = false;
  /** The one that has answered first. */
  #versions = VERSIONS;

  constructor(options: { client: Pick<KubeClient, 'list'>; now: () => number; log: Log }) {
    this.#options = options;
  }

  /** The sentence of the pod's Workload; undefined if there is none, or none is readable. Never throws. */
  async read({ metadata }: V1Pod, signal: AbortSignal): Promise<string | undefined> {
    const { uid = '', namespace = '' } = metadata!;
    const now = this.#options.now();
    const known = this.#known.get(uid);
    const quietUntil = Math.max(this.#pausedUntil, this.#absentUntil.get(namespace) ?? 0);
    if (now < quietUntil || (known && now - known.readAt < FRESH_MS)) return known?.reason;
    try {
      const reason = await this.#find(uid, namespace, signal);
      this.#known.set(uid, { reason, readAt: now });
      this.#hasFailed = false;
      return reason;
    } catch (err) {
      if (isUnreadable(err)) this.#absentUntil.set(namespace, now + ABSENT_MS);
      else this.#pause(now, err as Error);
      return known?.reason;
    }
  }

  #pause(now: number, err: Error): void {
    this.#pausedUntil = now + PAUSE_MS;
    if (!this.#hasFailed) this.#options.log.warn({ err }, 'could not read the Workloads of pods');
    this.#hasFailed = true;
  }

  async #find(uid: string, namespace: string, signal: AbortSignal): Promise<string | undefined> {
    const selection = { namespace, labelSelector: `${KUEUE.podUID}=${uid}`, limit: 1 };
    let refusal: unknown;
    for (const resource of this.#versions)
      try {
        const call = { ...selection, signal, timeoutMs: TIMEOUT_MS };
        const { items } = await this.#options.client.list<Workload>(resource, call);
        this.#versions = [resource, ...VERSIONS.filter((other) => other !== resource)];
        return items[0] && describeWait(items[0]);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        refusal = error;
      }
    throw refusal;
  }
}

const isUnreadable = (error: unknown): boolean => isNotFound(error) || isForbidden(error);

/** The first step that is missing: quota, then the checks of the queue. */
function describeWait({ status }: Workload): string | undefined {
  for (const type of ['QuotaReserved', 'Admitted']) {
    const condition = status?.conditions?.find((each) => each.type === type);
    if (condition?.status === 'False' && condition.message) return truncateText(condition.message);
  }
  return undefined;
}
