/** All WebhookEndpoints as last seen, each namespace's by age, and what of each is to be published. */
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import { type WebhookEndpoint, webhookEndpoint } from '../../api/webhook-endpoint.ts';
import { toMillis } from '../../kube/time.ts';
import { type Parsed, parseObject, type RawObject } from '../framework/parsing.ts';
import type { WantedEndpoint } from '../publish/desired-state.ts';

/** Of one workspace; the oldest win. */
export const MOST_ENDPOINTS = 50;

interface Known {
  key: string;
  /** Unix milliseconds of its creation; ties go by key. */
  since: number;
  uid: string | undefined;
  parsed: Parsed<WebhookEndpoint>;
  /** null = not to be published; undefined = not reconciled yet. */
  entry: PublishedEndpoint | null | undefined;
}

export class EndpointIndex {
  readonly #known = new Map<string, Known>();
  /** Oldest first. */
  readonly #byNamespace = new Map<string, Known[]>();

  /** Takes in an object as the watch showed it; answers the other keys that have to be looked at again. */
  put(key: string, object: RawObject): string[] {
    const { uid, creationTimestamp } = object.metadata;
    const parsed = parseObject(webhookEndpoint, object);
    const before = this.#known.get(key);
    if (before?.uid === uid && before) {
      before.parsed = parsed;
      return [];
    }
    const again = this.remove(key);
    const known: Known = { key, since: toMillis(creationTimestamp), uid, parsed, entry: undefined };
    this.#known.set(key, known);
    const { namespace } = object.metadata;
    const all = this.#byNamespace.get(namespace) ?? [];
    this.#byNamespace.set(namespace, all);
    all.splice(findPlace(all, known), 0, known);
    const pushedOut = all[MOST_ENDPOINTS];
    return pushedOut && pushedOut !== known && this.isWithin(key) ? [...again, pushedOut.key] : again;
  }

  remove(key: string): string[] {
    const known = this.#known.get(key);
    if (!known) return [];
    this.#known.delete(key);
    const [namespace = ''] = key.split('/');
    const all = this.#byNamespace.get(namespace)!;
    const place = findPlace(all, known);
    all.splice(place, 1);
    if (all.length === 0) this.#byNamespace.delete(namespace);
    const letIn = place < MOST_ENDPOINTS ? all[MOST_ENDPOINTS - 1] : undefined;
    return letIn ? [letIn.key] : [];
  }

  get(key: string): Parsed<WebhookEndpoint> | undefined {
    return this.#known.get(key)?.parsed;
  }

  /** Whether it is one of the workspace's oldest, as many as may be. */
  isWithin(key: string): boolean {
    const known = this.#known.get(key);
    if (!known) return false;
    return findPlace(this.#byNamespace.get(key.split('/')[0]!)!, known) < MOST_ENDPOINTS;
  }

  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  has(namespace: string): boolean {
    return this.#byNamespace.has(namespace);
  }

  entry(key: string): PublishedEndpoint | null | undefined {
    return this.#known.get(key)?.entry;
  }

  /** Says what is to be published of an endpoint that is there. */
  settle(key: string, entry: PublishedEndpoint | null): void {
    const known = this.#known.get(key);
    if (known) known.entry = entry;
  }

  wanted(namespace: string): WantedEndpoint[] {
    return (this.#byNamespace.get(namespace) ?? []).map(({ key, entry }) => ({
      name: key.split('/')[1]!,
      entry,
    }));
  }
}

/** Where it is among those sorted by age, or would be. */
function findPlace(all: readonly Known[], { since, key }: Known): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = all[middle]!;
    if (other.since < since || (other.since === since && other.key < key)) low = middle + 1;
    else high = middle;
  }
  return low;
}
