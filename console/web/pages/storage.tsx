/** Buckets of the namespace's own that results can go to. */
import { Code, SimpleGrid } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { StorageCredentialView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { useDeletion } from '../parts/deletion.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { CredentialCard } from '../storage/credential-card.tsx';
import { CredentialDialog } from '../storage/credential-form.tsx';

export function StoragePage() {
  const base = useBase();
  const { manageStorage } = useAccess();
  const [isOpen, { open, close }] = useDisclosure();
  const query = useQuery({
    queryKey: [base, 'storage-credentials'],
    queryFn: ({ signal }) =>
      call<StorageCredentialView[]>('GET', `${base}/storage-credentials`, undefined, signal),
  });
  return (
    <Page
      title="Storage"
      about={
        <>
          Results of requests that name one of these in <Code>storage_credential_id</Code> go to your own
          bucket.
        </>
      }
      actions={
        <AllowedButton
          isAllowed={manageStorage}
          reason="You may not add storage credentials in this namespace."
          onClick={open}
        >
          New credential
        </AllowedButton>
      }
    >
      <CredentialDialog isOpen={isOpen} onClose={close} />
      <Loaded query={query}>
        {(credentials) =>
          credentials.length === 0 ? (
            <EmptyState title="No storage credentials yet">
              Results are kept by Berth, and linked to, unless a request names a bucket of yours. Add the
              first with “New credential”.
            </EmptyState>
          ) : (
            <CredentialList credentials={credentials} />
          )
        }
      </Loaded>
    </Page>
  );
}

function CredentialList({ credentials }: { credentials: StorageCredentialView[] }) {
  const { ask, dialog } = useDeletion('storage-credentials', {
    action: 'Delete',
    warning:
      'Requests that name it are refused, and results of those that wait or run cannot be stored. What lies in the bucket already stays.',
  });
  return (
    <>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {credentials.map((credential) => (
          <CredentialCard
            key={credential.name}
            credential={credential}
            onDelete={() => ask(credential.name)}
          />
        ))}
      </SimpleGrid>
      {dialog}
    </>
  );
}
