/** Objects as the API server stores them, and their views. */
import type { z } from 'zod';

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: object[];
  };
  spec?: unknown;
  status?: unknown;
  [field: string]: unknown;
}

/** The view of an object; undefined omits it. */
export type ObjectView<V> = (object: KubeObject) => V | undefined;

/** A view of stored objects, with all defaults; omits those that this version cannot read. */
export const viewAs =
  <S extends z.ZodType, V>(schema: S, view: (object: z.output<S>) => V): ObjectView<V> =>
  (object) => {
    const parsed = schema.safeParse(object);
    return parsed.success ? view(parsed.data) : undefined;
  };
