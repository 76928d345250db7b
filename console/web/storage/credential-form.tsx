/** Adds a bucket with its access keys, which is verified immediately. */

import { Checkbox, Modal, PasswordInput, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type BodyOf, routes } from '../../routes.ts';
import { splitError } from '../client/call.ts';
import { useWrite } from '../client/namespace.ts';
import { FormEnd } from '../parts/form-end.tsx';
import { NameField } from '../parts/name-field.tsx';

const EMPTY = {
  name: '',
  endpoint: '',
  region: '',
  bucket: '',
  prefix: '',
  accessKeyId: '',
  secretAccessKey: '',
};
type Field = keyof typeof EMPTY;
const FIELDS = Object.keys(EMPTY);

export function CredentialDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="New storage credential"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <CredentialForm onDone={onClose} />
    </Modal>
  );
}

function CredentialForm({ onDone }: { onDone: () => void }) {
  const [values, setValues] = useState(EMPTY);
  const [pathStyle, setPathStyle] = useState(true);
  const create = useWrite(
    routes.createStorageCredential,
    {},
    { refreshes: [routes.listStorageCredentials], onSuccess: onDone },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(buildBody(values, pathStyle));
  };
  const wrong = splitError(create.error, FIELDS);
  const bind = (field: Field) => ({
    value: values[field],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setValues((before) => ({ ...before, [field]: value }));
    },
    error: wrong.fields[field],
    spellCheck: false,
    autoCapitalize: 'none',
  });
  return (
    <form onSubmit={submit} autoComplete="off">
      <Stack>
        <NameField {...bind('name')} />
        <TextInput {...bind('bucket')} label="Bucket" minLength={3} maxLength={63} required />
        <TextInput
          {...bind('prefix')}
          label="Prefix"
          description="Prepended to each object key as is"
          placeholder="berth/results/"
          maxLength={512}
        />
        <TextInput
          {...bind('endpoint')}
          label="Endpoint"
          description="Leave empty for Amazon S3"
          type="url"
          placeholder="https://s3.example.com"
          maxLength={512}
        />
        <TextInput {...bind('region')} label="Region" placeholder="us-east-1" maxLength={64} />
        <Checkbox
          label="Path-style addressing"
          description="Required by MinIO and most S3-compatible stores; Amazon S3 supports both"
          checked={pathStyle}
          onChange={(event) => setPathStyle(event.currentTarget.checked)}
        />
        <TextInput {...bind('accessKeyId')} label="Access key ID" autoComplete="off" required />
        <PasswordInput
          {...bind('secretAccessKey')}
          label="Secret access key"
          description="You can't view it later"
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the secret access key', tabIndex: 0 }}
          required
        />
        <FormEnd error={wrong.rest} isBusy={create.isPending}>
          Add
        </FormEnd>
      </Stack>
    </form>
  );
}

/** Empty fields get the server's defaults. */
function buildBody(values: typeof EMPTY, pathStyle: boolean): BodyOf<typeof routes.createStorageCredential> {
  const { name, bucket, accessKeyId, secretAccessKey, ...others } = values;
  const given = Object.entries(others).filter(([, value]) => value.trim() !== '');
  const optional = Object.fromEntries(given.map(([field, value]) => [field, value.trim()]));
  return { ...optional, name, bucket, accessKeyId, secretAccessKey, pathStyle };
}
