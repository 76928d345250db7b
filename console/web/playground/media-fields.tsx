/** The fields that pictures and videos have in common. */
import { FileInput, Textarea } from '@mantine/core';

export function PromptField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <Textarea
      label="Prompt"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      required
      autosize
      minRows={2}
      maxRows={8}
      w="100%"
    />
  );
}

interface PictureFieldProps {
  label: string;
  isRequired: boolean;
  value: File | null;
  onChange: (value: File | null) => void;
}

export function PictureField({ label, isRequired, value, onChange }: PictureFieldProps) {
  return (
    <FileInput
      label={label}
      placeholder={isRequired ? 'Choose an image' : 'None'}
      accept="image/png,image/jpeg,image/webp"
      value={value}
      onChange={onChange}
      required={isRequired}
      clearable
      clearButtonProps={{ 'aria-label': 'Remove image' }}
      w={220}
    />
  );
}

/** The body of a media request. What is absent, or empty, is left out. */
export function buildForm(fields: Record<string, string | number | File | null>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (value !== null && value !== '') form.append(name, value instanceof File ? value : String(value));
  return form;
}
