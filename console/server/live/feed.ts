/** Changes in a namespace, from watches as one user and Redis' announcements, for all of the user's tabs (decision 0096). */
import { setTimeout as delay } from 'node:timers/promises';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import { LABELS } from '../../../api/names.ts';
import type { AnnouncedTopic, LiveTopic, LiveUpdate, WatchedTopic } from '../../api.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import type { Selection } from '../kubernetes/paths.ts';
import type { KubernetesStreams } from '../kubernetes/streams.ts';

/** Changes within this time are reported together. */
const GATHER_MS = 1_000;
const RETRY_MS = 5_000;
/** The user may not watch it: the page polls instead, which shows why. */
const REFUSED = [401, 403, 404];

export const MODEL_PODS = `${LABELS.deployment},${LABELS.component}=model`;

const SOURCES: Record<WatchedTopic, { plural: string; selection: Selection }> = {
  deployments: { plural: modelDeploymentResource.plural, selection: {} },
  replicas: { plural: 'pods', selection: { labelSelector: MODEL_PODS } },
  events: { plural: 'events', selection: {} },
};

export type LiveListener = (update: LiveUpdate) => void;

export interface FeedOptions {
  streams: Pick<KubernetesStreams, 'watch'>;
  /** For each watch. */
  readToken: () => Promise<string>;
  namespace: string;
  gatherMs?: number;
  retryMs?: number;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #listeners = new Set<LiveListener>();
  readonly #watched = new Set<WatchedTopic>();
  readonly #changed = new Set<LiveTopic>();
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    for (const topic of Object.keys(SOURCES) as WatchedTopic[]) void this.#follow(topic);
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0;
  }

  /** Reports at once what is watched. Returns the unsubscribe function. */
  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    listener({ watched: [...this.#watched], changed: [] });
    return () => this.#listeners.delete(listener);
  }

  /** Redis announced that these changed. */
  announce(topics: readonly AnnouncedTopic[]): void {
    for (const topic of topics) this.#changed.add(topic);
    this.#notifySoon();
  }

  close(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
  }

  async #follow(topic: WatchedTopic): Promise<void> {
    const { streams, readToken, namespace, retryMs = RETRY_MS } = this.#options;
    const { signal } = this.#ending;
    const { plural, selection } = SOURCES[topic];
    while (!signal.aborted) {
      const isRefused = await (async () => {
        const token = await readToken();
        for await (const _ of streams.watch(token, { plural, namespace }, selection, signal))
          this.#note(topic);
        return false;
      })().catch((error) => error instanceof KubernetesError && REFUSED.includes(error.status));
      if (signal.aborted) return;
      this.#watched.delete(topic);
      this.#notifySoon();
      if (isRefused) return;
      await delay(retryMs, undefined, { signal }).catch(() => {});
    }
  }

  #note(topic: WatchedTopic): void {
    this.#watched.add(topic);
    this.#changed.add(topic);
    this.#notifySoon();
  }

  #notifySoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const news = { watched: [...this.#watched], changed: [...this.#changed] };
      this.#changed.clear();
      for (const listener of this.#listeners) listener(news);
    }, this.#options.gatherMs ?? GATHER_MS);
  }
}
