/** Prefetches weights into a shared cache before a pod needs them: once per source, by a Job. */
import { ANNOTATIONS } from '../../api/names.ts';
import { isAlreadyExists, isForbidden, isInvalid, isNotFound } from '../../kube/api-error.ts';
import { controllerOf, type KubeObject, objectKey } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { ModelContext } from './context.ts';

export class WeightsPrefetch {
  readonly #context: Pick<ModelContext, 'client' | 'log'>;
  /** The source that each deployment's Job downloads, by key. */
  readonly #known = new Map<string, string>();

  constructor(context: Pick<ModelContext, 'client' | 'log'>) {
    this.#context = context;
  }

  /** A finished Job is kept as a record. False: to be repeated soon. */
  async ensure(live: KubeObject, job: KubeObject | undefined, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#context;
    const key = objectKey(live);
    const wanted = job?.metadata.annotations?.[ANNOTATIONS.prefetched];
    if (!job || wanted === undefined || this.#known.get(key) === wanted) return true;
    const { name, namespace } = job.metadata;
    const at = { name, namespace: namespace! };
    const present = await client.find(RESOURCES.Job, at, { signal });
    if (present && controllerOf(present)?.uid !== live.metadata.uid) return true;
    if (present?.metadata.annotations?.[ANNOTATIONS.prefetched] !== wanted) {
      if (present) await client.delete(RESOURCES.Job, at, { uid: present.metadata.uid, signal });
      try {
        await client.create(RESOURCES.Job, job, { signal });
      } catch (error) {
        // The previous one is being deleted.
        if (isAlreadyExists(error)) return false;
        if (![isForbidden, isInvalid, isNotFound].some((is) => is(error))) throw error;
        // Due to a quota of Jobs, for example: the first pod downloads.
        log.warn({ key, job: name, err: error }, 'prefetch refused');
        this.#known.set(key, wanted);
        return true;
      }
      log.info({ key, job: name }, 'prefetching weights');
    }
    this.#known.set(key, wanted);
    return true;
  }

  delete(key: string): void {
    this.#known.delete(key);
  }
}
