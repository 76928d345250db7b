/** Saves memory for managed fields: similar objects own the same fields, so they share one tree. */
import { LRUCache } from 'lru-cache';
import { type OwnedFields, withoutOwners } from './managed-fields.ts';
import type { KubeObject, ManagedFieldsEntry } from './object.ts';

/** Trees remembered for sharing: there are few, one for each shape of each kind. */
const MAX_SHAPES = 2_000;

export class SharedFields {
  readonly #managers: ReadonlySet<string>;
  readonly #entries = new LRUCache<string, ManagedFieldsEntry>({ max: MAX_SHAPES });

  /** Nothing is kept of all other managers. */
  constructor(managers: readonly string[]) {
    this.#managers = new Set(managers);
  }

  trim<T extends KubeObject>(object: T): T {
    const { managedFields, ...metadata } = object.metadata;
    const own = managedFields?.filter(({ manager }) => manager !== undefined && this.#managers.has(manager));
    return { ...object, metadata: { ...metadata, managedFields: own?.map((entry) => this.#share(entry)) } };
  }

  #share({ manager, operation, subresource, fieldsV1 }: ManagedFieldsEntry): ManagedFieldsEntry {
    const entry = { manager, operation, subresource, fieldsV1: withoutOwners(fieldsV1 as OwnedFields) };
    const shape = JSON.stringify(entry);
    const known = this.#entries.get(shape);
    if (known) return known;
    this.#entries.set(shape, entry);
    return entry;
  }
}
