/** Replaces an object as the user, while the operator writes its status in between. */
import type { Author, Kubernetes, Written } from './client.ts';
import { KubernetesError } from './error.ts';
import type { KubeObject } from './object.ts';
import type { ObjectPlace } from './paths.ts';

const MAX_ATTEMPTS = 5;

export interface Replacement {
  name: string;
  /** The whole object, from the stored one; called again if that was written since. May throw. */
  change: (stored: KubeObject) => KubeObject | Promise<KubeObject>;
  dryRun: boolean;
}

/** Throws KubernetesError. */
export async function replaceObject(
  kubernetes: Kubernetes,
  author: Author,
  place: ObjectPlace,
  { name, change, dryRun }: Replacement,
): Promise<Written> {
  for (let attempt = 1; ; attempt++) {
    const stored = await kubernetes.get(author.token, place, name);
    const changed = await change(stored);
    try {
      return await kubernetes.write(author, place, changed, { dryRun });
    } catch (error) {
      const isConflict = error instanceof KubernetesError && error.status === 409;
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
