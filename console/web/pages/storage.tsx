/** The namespace's own buckets for results. */
import '../theme/later-styles.ts';
import { Code, Group, SimpleGrid } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { StorageCredentialView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ListFilter, ListOrder, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { useDeletion } from '../parts/deletion.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { CredentialCard } from '../storage/credential-card.tsx';
import { CredentialDialog } from '../storage/credential-form.tsx';

export function StoragePage() {
  const { manageStorage } = useAccess();
  const [isOpen, { open, close }] = useDisclosure();
  const query = useRead(routes.listStorageCredentials);
  return (
    <Page
      title="Storage"
      about={
        <>
          Requests that set <Code>storage_credential_id</Code> to one of these store their results in your own
          bucket.
        </>
      }
      actions={
        <AllowedButton
          isAllowed={manageStorage}
          reason="You don't have permission to add storage credentials in this namespace."
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
              By default, Berth stores results and returns links to them. To store them in your own bucket,
              add a credential with “New credential”.
            </EmptyState>
          ) : (
            <CredentialList credentials={credentials} />
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: readonly Column<StorageCredentialView>[] = [
  { by: 'name', label: 'Name', value: ({ name }) => name },
  { by: 'state', label: 'State', value: ({ state }) => state },
  { by: 'bucket', label: 'Bucket', value: ({ bucket }) => bucket },
  { by: 'created', label: 'Newest', value: ({ createdAt }) => createdAt, isLargestFirst: true },
];

const textsOf = ({ name, id, state, bucket, prefix, endpoint, region }: StorageCredentialView) => [
  name,
  id === null ? null : String(id),
  state,
  `${bucket}/${prefix}`,
  endpoint,
  region,
];

function CredentialList({ credentials }: { credentials: StorageCredentialView[] }) {
  const { ask, dialog } = useDeletion(routes.deleteStorageCredential, {
    list: routes.listStorageCredentials,
    action: 'Delete',
    warning:
      'Requests that reference it will be rejected, and results of queued or running requests cannot be stored. Objects already in the bucket are kept.',
  });
  const list = useArrangement(credentials, { columns: COLUMNS, textsOf });
  return (
    <>
      <Group>
        <ListFilter label="credentials" list={list} />
        <ListOrder label="Sort credentials" list={list} />
      </Group>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {list.rows.map((credential) => (
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
