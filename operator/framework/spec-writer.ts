/** Who wrote an object's spec last: kept of its managed fields, whose other managers are not. */
import { isRecordedField } from '../../api/spec-revision.ts';
import { findSpecWriter } from '../../kube/managed-fields.ts';
import type { KubeObject, ManagedFieldsEntry } from '../../kube/object.ts';

/** `trimmed`: the object without the fields of other managers. */
export function keepSpecWriter<T extends KubeObject>(object: T, trimmed: T): T {
  const writer = findSpecWriter(object, isRecordedField);
  if (!writer) return trimmed;
  const { manager, operation, time } = writer;
  const managedFields = [...(trimmed.metadata.managedFields ?? []), { manager, operation, time }];
  return { ...trimmed, metadata: { ...trimmed.metadata, managedFields } };
}

/** Reads what `keepSpecWriter` has kept. */
export const readSpecWriter = ({ metadata }: Pick<KubeObject, 'metadata'>): ManagedFieldsEntry | undefined =>
  metadata.managedFields?.find(({ fieldsV1 }) => fieldsV1 === undefined);
