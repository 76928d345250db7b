/** The history of a deployment's spec, as the console and the command line show it. Pure. */
import { listDifferences, type SpecDifference } from './spec-difference.ts';
import { findPrevious, isSameSpec, newestFirst, type Spec, type SpecRevision } from './spec-revision.ts';

export interface HistoryEntry extends Pick<SpecRevision, 'at' | 'manager'> {
  revision: number;
  /** It is the spec of now. */
  isCurrent: boolean;
  /** Against the revision before it; null of the oldest that is kept. */
  change: SpecDifference | null;
  /** What going back to it would change now. */
  rollback: SpecDifference;
}

export interface SpecHistory {
  /** Newest first. */
  entries: HistoryEntry[];
  /** Where a rollback leads if none is named; null: there is no other spec. */
  previous: number | null;
}

export function describeHistory(current: Spec, revisions: readonly SpecRevision[]): SpecHistory {
  const sorted = newestFirst(revisions);
  return {
    entries: sorted.map(({ number, at, manager, spec }, index) => {
      const before = sorted[index + 1];
      return {
        revision: number,
        at,
        manager,
        isCurrent: isSameSpec(spec, current),
        change: before ? listDifferences(before.spec, spec) : null,
        rollback: listDifferences(current, spec),
      };
    }),
    previous: findPrevious(sorted, current)?.number ?? null,
  };
}
