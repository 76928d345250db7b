/** Webhook endpoints and the signing secret. */
import '../theme/later-styles.ts';
import { Group, SimpleGrid } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { WebhookView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ListFilter, ListOrder, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { useDeletion } from '../parts/deletion.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { SigningSecret } from '../webhooks/signing-secret.tsx';
import { WebhookCard } from '../webhooks/webhook-card.tsx';
import { WebhookDialog } from '../webhooks/webhook-form.tsx';

export function WebhooksPage() {
  const { manageWebhooks } = useAccess();
  const [changing, setChanging] = useState<WebhookView | null>(null);
  const [isOpen, { open, close }] = useDisclosure();
  const query = useRead(routes.listWebhooks);
  const show = (webhook: WebhookView | null) => {
    setChanging(webhook);
    open();
  };
  return (
    <Page
      title="Webhooks"
      about="Each endpoint receives signed events of all asynchronous requests in this namespace."
      actions={
        <AllowedButton
          isAllowed={manageWebhooks}
          reason="You don't have permission to add webhooks in this namespace."
          onClick={() => show(null)}
        >
          New endpoint
        </AllowedButton>
      }
    >
      <WebhookDialog isOpen={isOpen} webhook={changing} onClose={close} />
      <Loaded query={query}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <EmptyState title="No endpoints yet">
              Add the first one with “New endpoint”. A single request can set its own callback with
              webhook_url.
            </EmptyState>
          ) : (
            <WebhookList webhooks={webhooks} onChange={show} />
          )
        }
      </Loaded>
      <SigningSecret />
    </Page>
  );
}

const COLUMNS: readonly Column<WebhookView>[] = [
  { by: 'name', label: 'Name', value: ({ name }) => name },
  { by: 'state', label: 'State', value: ({ state }) => state },
  {
    by: 'failures',
    label: 'Most failures',
    value: ({ consecutiveFailures }) => consecutiveFailures,
    isLargestFirst: true,
  },
  { by: 'created', label: 'Newest', value: ({ createdAt }) => createdAt, isLargestFirst: true },
];

const textsOf = ({ name, url, state, eventTypes }: WebhookView) => [name, url, state, ...eventTypes];

function WebhookList(props: { webhooks: WebhookView[]; onChange: (webhook: WebhookView) => void }) {
  const { ask, dialog } = useDeletion(routes.deleteWebhook, {
    list: routes.listWebhooks,
    action: 'Delete',
    warning: 'It receives no more events, including retries of earlier ones.',
  });
  const list = useArrangement(props.webhooks, { columns: COLUMNS, textsOf });
  return (
    <>
      <Group>
        <ListFilter label="endpoints" list={list} />
        <ListOrder label="Sort endpoints" list={list} />
      </Group>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {list.rows.map((webhook) => (
          <WebhookCard
            key={webhook.name}
            webhook={webhook}
            onChange={() => props.onChange(webhook)}
            onDelete={() => ask(webhook.name)}
          />
        ))}
      </SimpleGrid>
      {dialog}
    </>
  );
}
