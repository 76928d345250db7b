/** A filter by request ID. */
import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

/** Debounce interval of typing. */
const DEBOUNCE_MS = 300;

/** The field keeps its own text until typing pauses, since updating the URL is too slow. */
export function RequestIdField({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const changeLater = useDebouncedCallback(onChange, DEBOUNCE_MS);
  useEffect(() => {
    // Changed by a link, not by this field.
    if (document.activeElement !== input.current) setText(value);
  }, [value]);
  return (
    <TextInput
      ref={input}
      label="Request"
      placeholder="req_…"
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        changeLater(event.currentTarget.value.trim());
      }}
      onBlur={() => changeLater.flush()}
      w={{ base: '100%', xs: 320 }}
    />
  );
}
