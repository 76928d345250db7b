/** Which revisions of a spec are written and removed. Pure. */
import { MAX_REVISIONS, type SpecRevision, versionOf } from '../../api/spec-revision.ts';
import type { ManagedFieldsEntry } from '../../kube/object.ts';

/** A revision without its spec, of which it has the version. */
export interface KnownRevision extends Omit<SpecRevision, 'spec'> {
  version: string;
}

export const knowRevision = ({ spec, ...rest }: SpecRevision): KnownRevision => ({
  ...rest,
  version: versionOf(spec),
});

export interface RevisionPlan {
  /** The number of the revision to create; undefined: the newest has this spec. */
  number: number | undefined;
  remove: KnownRevision[];
}

/** Revisions never change: a spec of before becomes a revision again. `newestFirst`: the known ones, in this order; `taken`: the highest number whose name is in use. */
export function planRevisions(
  newestFirst: readonly KnownRevision[],
  version: string,
  taken: number,
): RevisionPlan {
  const [latest] = newestFirst;
  if (latest?.version === version) return { number: undefined, remove: newestFirst.slice(MAX_REVISIONS) };
  return {
    number: Math.max(latest?.number ?? 0, taken) + 1,
    remove: newestFirst.slice(MAX_REVISIONS - 1),
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
  latest: KnownRevision | undefined,
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
