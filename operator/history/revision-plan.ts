/** Which revisions of a spec are written and removed. Pure. */
import {
  isSameSpec,
  MAX_REVISIONS,
  newestFirst,
  type Spec,
  type SpecRevision,
} from '../../api/spec-revision.ts';
import type { ManagedFieldsEntry } from '../../kube/object.ts';

export interface RevisionPlan {
  /** `known`: one of this spec, which gets the number; undefined: a new one is created. */
  write: { number: number; known: SpecRevision | undefined } | undefined;
  remove: SpecRevision[];
}

/** A spec that is the newest revision needs nothing, and an earlier one gets the next number, as Kubernetes does it. */
export function planRevisions(revisions: readonly SpecRevision[], spec: Spec): RevisionPlan {
  const sorted = newestFirst(revisions);
  const [latest] = sorted;
  const known = sorted.find((revision) => isSameSpec(revision.spec, spec));
  if (known && known === latest) return { write: undefined, remove: sorted.slice(MAX_REVISIONS) };
  const others = sorted.filter((revision) => revision !== known);
  return {
    write: { number: (latest?.number ?? 0) + 1, known },
    remove: others.slice(MAX_REVISIONS - 1),
  };
}

export interface Change {
  manager: string | null;
  /** RFC 3339. */
  at: string;
}

/** Who made the change that a new revision records, of which `writer` is the last that Kubernetes recorded. */
export function describeChange(
  writer: ManagedFieldsEntry | undefined,
  latest: SpecRevision | undefined,
  now: number,
): Change {
  const { manager, time } = writer ?? {};
  const unknown = { manager: null, at: new Date(now).toISOString() };
  if (manager === undefined || time === undefined) return unknown;
  // The writer of the revision before: this change only removed fields, whose manager is not recorded.
  const isEarlier = latest !== undefined && Date.parse(time) < Date.parse(latest.at);
  const isSame = latest !== undefined && time === latest.at && manager === latest.manager;
  return isEarlier || isSame ? unknown : { manager, at: time };
}
