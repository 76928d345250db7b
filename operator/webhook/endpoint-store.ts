/** All WebhookEndpoints as last seen, each namespace's by age, and their entries to publish. */
import type { PublishedEndpoint } from '../../api/redis-keys.ts';
import { type WebhookEndpoint, webhookEndpoint } from '../../api/webhook-endpoint.ts';
import { toMillis } from '../../kube/time.ts';
import { EntryStore, type RawObject } from '../framework/parsed-store.ts';
import { findPlace } from '../framework/sorted-list.ts';

/** Endpoints of one workspace; the oldest win. */
export const MAX_ENDPOINTS = 50;

interface Aged {
  key: string;
  /** Unix milliseconds of its creation; ties are broken by key. */
  since: number;
}

/** Why webhooks of a namespace are not signed: `all` of them, or those to endpoints whose `own` secret is invalid, by name. */
export type SigningFaults = Map<string, { all?: string; own?: ReadonlyMap<string, string> }>;

export class EndpointStore extends EntryStore<WebhookEndpoint, PublishedEndpoint> {
  readonly #aged = new Map<string, Aged>();
  /** By namespace, oldest first. */
  readonly #byAge = new Map<string, Aged[]>();

  constructor() {
    super(webhookEndpoint);
  }

  protected onPut(key: string, { metadata }: RawObject): string[] {
    if (this.#aged.has(key)) return [];
    const aged = { key, since: toMillis(metadata.creationTimestamp) };
    this.#aged.set(key, aged);
    const all = this.#byAge.get(metadata.namespace) ?? [];
    this.#byAge.set(metadata.namespace, all);
    all.splice(findPlace(all, aged, compareAges), 0, aged);
    const pushedOut = all[MAX_ENDPOINTS];
    return pushedOut && this.isWithin(key) ? [pushedOut.key] : [];
  }

  protected override onRemove(key: string): string[] {
    super.onRemove(key);
    const aged = this.#aged.get(key)!;
    this.#aged.delete(key);
    const [namespace = ''] = key.split('/');
    const all = this.#byAge.get(namespace)!;
    const place = findPlace(all, aged, compareAges);
    all.splice(place, 1);
    if (all.length === 0) this.#byAge.delete(namespace);
    const admitted = place < MAX_ENDPOINTS ? all[MAX_ENDPOINTS - 1] : undefined;
    return admitted ? [admitted.key] : [];
  }

  /** Names of those with their own secret, and of invalid ones: theirs is kept. */
  listOwnSecrets(namespace: string): { needed: string[]; unreadable: string[] } {
    const needed: string[] = [];
    const unreadable: string[] = [];
    for (const name of this.names(namespace)) {
      const key = `${namespace}/${name}`;
      const parsed = this.get(key)!;
      if (!parsed.ok) unreadable.push(name);
      else if (parsed.value.spec.signingSecret === 'Own' && this.isWithin(key)) needed.push(name);
    }
    return { needed: needed.sort(), unreadable };
  }

  /** Whether it is among the workspace's oldest, within the limit. */
  isWithin(key: string): boolean {
    const aged = this.#aged.get(key);
    return (
      aged !== undefined && findPlace(this.#byAge.get(key.split('/')[0]!)!, aged, compareAges) < MAX_ENDPOINTS
    );
  }
}

const compareAges = (a: Aged, b: Aged): number =>
  a.since - b.since || (a.key < b.key ? -1 : Number(a.key > b.key));
