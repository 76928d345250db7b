/** Who changed an object last, from its managed fields: one entry per program, and per user of the console, that wrote to it. */
import { z } from 'zod';
import type { ChangeView } from '../../api.ts';
import { readFieldManager } from '../kubernetes/field-manager.ts';
import type { KubeObject } from '../kubernetes/object.ts';

const managed = z.object({
  manager: z.string(),
  time: z.string(),
  subresource: z.string().optional(),
  fieldsV1: z.record(z.string(), z.unknown()).catch({}),
});
type Managed = z.infer<typeof managed>;

/** Managers read from an object; the API server keeps few more. */
const MAX_MANAGERS = 20;
const MAX_FIELDS = 8;
/** The object's members that people write. */
const PARTS = ['spec', 'metadata'];

/** The operator sets them on every object. */
const FINALIZERS = 'metadata.finalizers';

export function describeChanges(object: KubeObject): ChangeView[] {
  const { name, creationTimestamp, managedFields } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  const entries = Array.isArray(managedFields) ? managedFields.slice(0, MAX_MANAGERS) : [];
  return entries
    .map((entry) => managed.safeParse(entry))
    .flatMap(({ data }) => (data && isByPeople(data) ? data : []))
    .map(({ manager, time, fieldsV1 }) => ({
      type: 'change' as const,
      at: time,
      ...readFieldManager(manager),
      object: name,
      // Others may write to new objects at once, but no spec.
      isCreation: 'f:spec' in fieldsV1 && isNear(time, creationTimestamp),
      fields: PARTS.flatMap((part) => listFields(fieldsV1[`f:${part}`], part)).slice(0, MAX_FIELDS),
    }))
    .filter(({ isCreation, fields }) => isCreation || fields.length > 0);
}

/** The operator writes statuses all the time. */
const isByPeople = ({ subresource, fieldsV1 }: Managed): boolean =>
  subresource !== 'status' && !('f:status' in fieldsV1);

/** The API server takes both times separately, to the second. */
const isNear = (time: string, other = ''): boolean => Math.abs(Date.parse(time) - Date.parse(other)) <= 1_000;

/** Such as `spec.replicas`. */
const listFields = (fields: unknown, part: string): string[] =>
  Object.keys(typeof fields === 'object' && fields !== null ? fields : {})
    .filter((key) => key.startsWith('f:'))
    .map((key) => `${part}.${key.slice(2)}`)
    .filter((field) => field !== FINALIZERS);
