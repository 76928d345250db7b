/** One bucket: location, verification, ID for requests. */
import { Group, Text } from '@mantine/core';
import type { StorageCredentialView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { ObjectCard } from '../parts/object-card.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';

export function CredentialCard(props: { credential: StorageCredentialView; onDelete: () => void }) {
  const { name, id, state, message } = props.credential;
  const { manageStorage } = useAccess();
  const verify = useWrite(
    routes.verifyStorageCredential,
    { name },
    { refreshes: [routes.listStorageCredentials], onSuccess: ({ state }) => announce(`${name}: ${state}.`) },
  );
  const manage = {
    isAllowed: manageStorage,
    reason: "You don't have permission to change storage credentials in this namespace.",
    size: 'compact-sm',
  } as const;
  return (
    <ObjectCard name={name} state={state}>
      <div aria-live="polite">
        <Where credential={props.credential} />
        {state !== 'verified' && message && (
          <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
            {message}
          </Text>
        )}
      </div>
      {id !== null && (
        <div>
          <Text size="sm" c="dimmed" mb={4}>
            Use in requests
          </Text>
          <Copyable text={`"storage_credential_id": ${id}`} label={`request field for ${name}`} />
        </div>
      )}
      {verify.data && !verify.isPending && <Outcome credential={verify.data} />}
      {verify.error && <ErrorAlert error={verify.error} />}
      <Group gap="xs">
        <AllowedButton
          {...manage}
          variant="light"
          loading={verify.isPending}
          onClick={() => verify.mutate()}
          aria-label={`Verify again: ${name}`}
        >
          Verify again
        </AllowedButton>
        <AllowedButton
          {...manage}
          variant="subtle"
          color="red"
          onClick={props.onDelete}
          aria-label={`Delete ${name}`}
        >
          Delete
        </AllowedButton>
      </Group>
    </ObjectCard>
  );
}

/** The result of verifying again. */
function Outcome({ credential: { state } }: { credential: StorageCredentialView }) {
  const messages = {
    verified: 'Verified just now: the bucket is writable.',
    failed: 'Verification failed again.',
    pending: 'Verification is still running; the result will appear here.',
  };
  return <Text size="sm">{messages[state]}</Text>;
}

function Where({ credential }: { credential: StorageCredentialView }) {
  const { endpoint, region, bucket, prefix, pathStyle } = credential;
  return (
    <div>
      <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {bucket}/{prefix}
      </Text>
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {endpoint ?? 'Amazon S3'}, {region},{' '}
        {pathStyle ? 'path-style addressing' : 'virtual-hosted-style addressing'}
      </Text>
    </div>
  );
}
