/** A filter by API key: by name, by part of the hint, or by the user of a playground. */
import { Autocomplete, type ComboboxItem, Group, Text } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import type { RequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';

/** Debounce interval of typing. */
const DEBOUNCE_MS = 300;
const MAX_OPTIONS = 50;

interface KeyFilterProps {
  value: string;
  onChange: (typed: string) => void;
  /** Whose submitters are offered as well: they may have used keys that are gone. */
  requests: readonly RequestView[];
}

export function KeyFilter({ value, onChange, requests }: KeyFilterProps) {
  const { data = [] } = useRead(routes.listKeys, {}, { refetchInterval: 30_000 });
  const [text, setText] = useState(value);
  const changeLater = useDebouncedCallback(onChange, DEBOUNCE_MS);
  useEffect(() => setText(value), [value]);
  const hints = new Map(data.map(({ name, hint }) => [name, hint]));
  const names = [...hints.keys(), ...requests.flatMap(({ submitter }) => submitter?.name ?? [])];
  return (
    <Autocomplete
      label="Key"
      placeholder="Name or sk-berth-…"
      data={[...new Set(names)]}
      value={text}
      onChange={(typed) => {
        setText(typed);
        changeLater(typed.trim());
      }}
      onBlur={() => changeLater.flush()}
      filter={({ options, search }) =>
        (options as ComboboxItem[]).filter(({ value }) => matches(search, value, hints.get(value)))
      }
      limit={MAX_OPTIONS}
      renderOption={({ option: { value } }) => (
        <Group gap="xs" justify="space-between" wrap="nowrap" w="100%">
          <Text size="sm" truncate>
            {value}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace">
            {hints.get(value)}
          </Text>
        </Group>
      )}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear key filter' }}
      w={{ base: 'calc(50% - 0.5rem)', xs: 220 }}
    />
  );
}

function matches(search: string, name: string, hint: string | null | undefined): boolean {
  const words = search.trim().toLowerCase();
  return name.toLowerCase().includes(words) || (hint?.toLowerCase().includes(words) ?? false);
}
