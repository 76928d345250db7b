/** A filter by time, stored in the page's URL: a range up to now, or from and to. Its fields are the page's to arrange. */
import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { USAGE_RANGES } from '../../api.ts';
import type { useFilters } from './filters.ts';

/** Names in the URL, as the API has them. */
export const TIME_FILTERS = ['within', 'since', 'until'] as const;
/** Instead of a range. */
const OWN_RANGE = 'own';
const LABELS: Record<string, string> = {
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  [OWN_RANGE]: 'Between…',
};
const CHOICES = [...USAGE_RANGES, OWN_RANGE].map((value) => ({ value, label: LABELS[value]! }));

interface TimeFilterProps {
  search: URLSearchParams;
  filter: ReturnType<typeof useFilters>['change'];
}

export function TimeFilter({ search, filter }: TimeFilterProps) {
  const [within, since, until] = TIME_FILTERS.map((name) => search.get(name) ?? '') as [
    string,
    string,
    string,
  ];
  const [isOwn, setOwn] = useState(false);
  const range = USAGE_RANGES.find((known) => known === within);
  const showsOwn = range === undefined && (isOwn || since !== '' || until !== '');
  const choose = (chosen: string | null) => {
    setOwn(chosen === OWN_RANGE);
    filter({ since: null, until: null, within: chosen === OWN_RANGE ? null : chosen });
  };
  return (
    <>
      <Select
        label="Time"
        placeholder="Any"
        data={CHOICES}
        value={range ?? (showsOwn ? OWN_RANGE : null)}
        onChange={choose}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear time filter' }}
        w={{ base: 'calc(50% - 0.5rem)', xs: 160 }}
      />
      {showsOwn && (
        <>
          <TimeField label="From" value={since} onChange={(time) => filter({ since: time })} />
          <TimeField label="To" value={until} onChange={(time) => filter({ until: time })} />
        </>
      )}
    </>
  );
}

interface TimeFieldProps {
  label: string;
  /** In ISO 8601; '' for none. */
  value: string;
  onChange: (time: string | null) => void;
}

/** In local time. Half a time is none: the filter changes once it is complete. */
function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <TextInput
      // Its own text until it is complete; another one once the URL was changed elsewhere.
      key={value}
      label={label}
      type="datetime-local"
      defaultValue={toLocalTime(value)}
      onChange={({ currentTarget }) => {
        const time = new Date(currentTarget.value);
        if (currentTarget.value === '') onChange(null);
        else if (!Number.isNaN(time.getTime()) && time.getFullYear() > 1999) onChange(time.toISOString());
      }}
      w={{ base: '100%', xs: 210 }}
    />
  );
}

/** As fields of the browser take it, to the minute. */
function toLocalTime(value: string): string {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}
