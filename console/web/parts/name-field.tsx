/** The field for the name of a Kubernetes object. */
import { TextInput, type TextInputProps } from '@mantine/core';

const RULE = 'Lowercase letters, numbers and hyphens';

/** `maxLength`: 200 unless given, which leaves space for what names of other objects add to it. */
export function NameField(props: TextInputProps) {
  return (
    <TextInput
      label="Name"
      description={RULE}
      // Browsers use the v flag, which requires escaping the hyphen.
      pattern="[a-z0-9]([\-.a-z0-9]*[a-z0-9])?"
      title={RULE}
      maxLength={200}
      required
      data-autofocus
      {...props}
    />
  );
}
