/** Evictions of deployments' pods, seen while a pod is still there: each becomes an event, and those in vain are counted. */
import type { V1Pod } from '@kubernetes/client-node';
import type { EventNote } from '../../kube/events.ts';
import { type ClusterView, modelKeyOf } from '../framework/cluster-view.ts';
import { type Eviction, readEviction } from '../status/eviction.ts';
import { isReady } from '../status/pod-findings.ts';

/** Evictions before a pod was ready, since one was. */
export interface VainEvictions {
  count: number;
  /** What the last one said. */
  message: string;
}

interface Known extends VainEvictions {
  /** Uids of evicted pods that are still there. */
  evicted: Set<string>;
}

export class Evictions {
  readonly #known = new Map<string, Known>();
  readonly #record: (key: string, event: EventNote) => void;

  /** `key`: `namespace/name` of a deployment. */
  constructor(record: (key: string, event: EventNote) => void) {
    this.#record = record;
  }

  /** A pod of the deployment changed; undefined: is gone. */
  observe(key: string, before: V1Pod | undefined, pod: V1Pod | undefined): void {
    const known = this.#known.get(key);
    const eviction = pod && readEviction(pod);
    if (eviction) this.#note(key, pod, eviction);
    else if (!pod) known?.evicted.delete(before!.metadata!.uid!);
    else if (known && isReady(pod)) known.count = 0;
  }

  /** Undefined: none. */
  inVain(key: string): VainEvictions | undefined {
    const known = this.#known.get(key);
    return known && known.count > 0 ? known : undefined;
  }

  /** Nothing is to run: a later start is another one. */
  reset(key: string): void {
    const known = this.#known.get(key);
    if (known) known.count = 0;
  }

  delete(key: string): void {
    this.#known.delete(key);
  }

  #note(key: string, pod: V1Pod, { reason, message }: Eviction): void {
    const { uid, name } = pod.metadata!;
    const known = this.#known.get(key) ?? { count: 0, message: '', evicted: new Set() };
    if (known.evicted.has(uid!)) return;
    known.evicted.add(uid!);
    this.#known.set(key, known);
    this.#record(key, { type: 'Warning', reason, note: `pod ${name}: ${message}` });
    if (hasServed(pod)) return;
    known.count++;
    known.message = message;
  }
}

/** Its readiness outlasts the request to delete it. */
const hasServed = ({ status }: V1Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: isTrue }) => type === 'Ready' && isTrue === 'True');

interface EvictionView {
  pods: Pick<ClusterView['pods'], 'onChange'>;
  models: Pick<ClusterView['models'], 'get'>;
}

/** Shows it every change of a deployment's pod: one that is evicted without a node is gone at once. */
export function watchEvictions({ pods, models }: EvictionView, evictions: Evictions): void {
  pods.onChange((before, pod) => {
    const [key] = modelKeyOf((pod ?? before)!);
    // Pods outlive a deployment that is deleted.
    if (key && models.get(key)) evictions.observe(key, before as V1Pod | undefined, pod as V1Pod | undefined);
  });
}
