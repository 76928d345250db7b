/** The history of a deployment's spec, as the console and the command line show it. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { listDifferences, type SpecDifference } from './spec-difference.ts';
import { newestFirst, type Spec, type SpecRevision, writtenSpec } from './spec-revision.ts';

export interface HistoryEntry extends Pick<SpecRevision, 'at' | 'manager'> {
  revision: number;
  /** The newest with the spec of now: earlier ones may have it as well. */
  isCurrent: boolean;
  /** Against the revision before it; null of the oldest that is kept. */
  change: SpecDifference | null;
  /** What going back to it would change now. */
  rollback: SpecDifference;
}

/** Newest first. */
export function describeHistory(current: Spec, revisions: readonly SpecRevision[]): HistoryEntry[] {
  const sorted = newestFirst(revisions);
  const now = writtenSpec(current);
  const latest = sorted.findIndex(({ spec }) => isDeepStrictEqual(spec, now));
  return sorted.map(({ number, at, manager, spec }, index) => {
    const before = sorted[index + 1];
    return {
      revision: number,
      at,
      manager,
      isCurrent: index === latest,
      change: before ? listDifferences(before.spec, spec) : null,
      rollback: listDifferences(now, spec),
    };
  });
}
