/** Conditions in the status of Berth's objects. */
import type { Condition } from '../api/kubernetes-types.ts';

/** Undefined if the object does not have it. */
export function readCondition(object: object, type: string): Condition | undefined {
  const { status } = object as { status?: { conditions?: Condition[] } };
  return status?.conditions?.find((condition) => condition.type === type);
}
