/** The time up to now that a page shows, stored in its URL. */
import { SegmentedControl } from '@mantine/core';
import { useFilters } from './filters.ts';

/** `initial`: where the URL has none. */
export function useRange<R extends string>(ranges: readonly R[], initial: R): R {
  const { search } = useFilters();
  return ranges.find((known) => known === search.get('range')) ?? initial;
}

export function RangeChoice({ ranges, value }: { ranges: readonly string[]; value: string }) {
  const { change } = useFilters();
  return (
    <SegmentedControl
      aria-label="Time range"
      data={[...ranges]}
      value={value}
      onChange={(next) => change({ range: next })}
      w="fit-content"
    />
  );
}
