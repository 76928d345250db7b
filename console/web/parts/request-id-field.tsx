/** A filter for the id of one request. */
import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

/** So long a pause ends the typing of a filter. */
const TYPING_MS = 300;

/** What is typed belongs to the field until the typing pauses: the address follows too late for a keyboard. */
export function RequestIdField({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const tell = useDebouncedCallback(onChange, TYPING_MS);
  useEffect(() => {
    // A link, not the field's own change.
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
        tell(event.currentTarget.value.trim());
      }}
      onBlur={() => tell.flush()}
      w={{ base: '100%', xs: 320 }}
    />
  );
}
