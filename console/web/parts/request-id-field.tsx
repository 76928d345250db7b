/** A filter by the ID of a request, or of something else that the label names. */
import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

/** Debounce interval of typing. */
const DEBOUNCE_MS = 300;

/** The field keeps its own text until typing pauses, since updating the URL is too slow. */
interface RequestIdFieldProps {
  label?: string;
  placeholder?: string;
  value: string;
  onChange: (typed: string) => void;
}

export function RequestIdField(props: RequestIdFieldProps) {
  const { label = 'Request', placeholder = 'req_…', value, onChange } = props;
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
      label={label}
      placeholder={placeholder}
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
