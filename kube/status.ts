/** Writes of the status subresource, by a field manager of their own, and only where something changes. */
import type { KubeClient } from './client.ts';
import { isAsApplied, ownedFields } from './managed-fields.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resource.ts';

export interface StatusWriterOptions {
  client: Pick<KubeClient, 'apply'>;
  fieldManager: string;
}

export interface StatusCall {
  signal?: AbortSignal;
}

export type StatusWriter = ReturnType<typeof createStatusWriter>;

/**
 * A writer whose manager owns exactly the fields of the last status it wrote: a field left out is removed, one that
 * another manager wrote stays.
 */
export function createStatusWriter({ client, fieldManager }: StatusWriterOptions) {
  return {
    /** Writes `status` onto the object and returns whether that was needed; `live` is its cached state. */
    async write(
      resource: Resource,
      live: KubeObject,
      { status, signal }: StatusCall & { status: object },
    ): Promise<boolean> {
      const wanted = JSON.parse(JSON.stringify(status)) as object;
      const owned = ownedFields(live, fieldManager, 'status')?.['f:status'];
      if (isAsApplied(wanted, live.status, owned)) return false;
      const { apiVersion, kind, metadata } = live;
      const { name, namespace, uid } = metadata;
      const patch: KubeObject = { apiVersion, kind, metadata: { name, namespace, uid }, status: wanted };
      const result = await client.apply(resource, patch, {
        fieldManager,
        force: true,
        subresource: 'status',
        signal,
      });
      return result.metadata.resourceVersion !== metadata.resourceVersion;
    },
  };
}
