/** Shows writes in the watchers' caches at once. */
import type { KubeClient } from './client.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resource.ts';
import type { Watcher } from './watcher.ts';

/**
 * The client, whose successful writes of known objects the watchers show before their watches deliver them. However far a
 * watch lags behind, the next write is then decided on the result of the last and carries its resource version, where it
 * would be a conflict otherwise, or done twice.
 */
export function writeThrough(
  client: KubeClient,
  watchers: readonly Pick<Watcher, 'resource' | 'absorb'>[],
): KubeClient {
  async function show<T extends KubeObject>(resource: Resource, written: Promise<T>): Promise<T> {
    const object = await written;
    for (const watcher of watchers)
      if (watcher.resource.plural === resource.plural && watcher.resource.apiVersion === resource.apiVersion)
        watcher.absorb(object);
    return object;
  }
  return {
    ...client,
    update: (resource, object, call) => show(resource, client.update(resource, object, call)),
    mergePatch: <T extends KubeObject>(...[resource, patch]: Parameters<KubeClient['mergePatch']>) =>
      show(resource, client.mergePatch<T>(resource, patch)),
    apply: (resource, object, options) => show(resource, client.apply(resource, object, options)),
  };
}
