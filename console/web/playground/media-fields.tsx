/** Form fields shared by images and videos. */
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

interface ImageFieldProps {
  label: string;
  isRequired: boolean;
  value: File | null;
  onChange: (value: File | null) => void;
}

export function ImageField({ label, isRequired, value, onChange }: ImageFieldProps) {
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

/** The body of a media request, without empty fields. */
export function buildForm(fields: Record<string, string | number | File | null | undefined>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (value !== null && value !== undefined && value !== '')
      form.append(name, value instanceof File ? value : String(value));
  return form;
}
