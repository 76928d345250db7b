/** Keys of the Secrets that specs refer to; their values are not kept. */
import { LRUCache } from 'lru-cache';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';

type Keys = ReadonlySet<string> | undefined;

interface Entry {
  /** Possibly still in progress, so that concurrent callers share one read. */
  keys: Promise<Keys>;
  readAt: number;
}

/** Not watched, since they are users' own: a result is reused for this long. */
const MAX_AGE_MS = 300_000;
const MAX_ENTRIES = 10_000;

export class SecretKeys {
  readonly #client: Pick<KubeClient, 'find'>;
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });

  constructor(client: Pick<KubeClient, 'find'>) {
    this.#client = client;
  }

  /** The Secret's keys, cached, or read now if they do not include `mustHave`; undefined: there is none. */
  async read(
    at: { namespace: string; name: string },
    { mustHave, isFresh, signal }: { mustHave: readonly string[]; isFresh: boolean; signal: AbortSignal },
  ): Promise<Keys> {
    const id = `${at.namespace}/${at.name}`;
    const known = this.#entries.get(id);
    if (known && !isFresh && performance.now() - known.readAt < MAX_AGE_MS) {
      const keys = await known.keys.catch(() => undefined);
      if (keys && mustHave.every((key) => keys.has(key))) return keys;
    }
    const keys = this.#client
      .find<KubeObject & { data?: object }>(RESOURCES.Secret, at, { signal })
      .then((secret) => secret && new Set(Object.keys(secret.data ?? {})));
    this.#entries.set(id, { keys, readAt: performance.now() });
    return keys;
  }
}
