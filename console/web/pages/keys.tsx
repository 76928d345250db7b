/** The namespace's API keys: usage, creation, revocation. */
import '../theme/later-styles.ts';
import { Code } from '@mantine/core';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { KeyTable } from '../keys/key-table.tsx';
import { NewKeyDialog } from '../keys/new-key.tsx';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { useURLDialog } from '../parts/url-dialog.ts';

/** They are written by gateways each 10 s, and cost a read for each deployment and day. */
const TOTALS_INTERVAL_MS = 60_000;

export function KeysPage() {
  const { manageKeys, readUsage = false } = useAccess();
  const [isMaking, { open, close }] = useURLDialog('new');
  const query = useRead(routes.listKeys);
  const { data: totals } = useRead(
    routes.listKeyTotals,
    {},
    { enabled: readUsage, refetchInterval: TOTALS_INTERVAL_MS },
  );
  return (
    <Page
      title="API keys"
      about="Each key works with every deployment in this namespace."
      actions={
        <AllowedButton
          isAllowed={manageKeys}
          reason="You don't have permission to create API keys in this namespace."
          onClick={open}
        >
          New key
        </AllowedButton>
      }
    >
      <NewKeyDialog isOpen={isMaking && manageKeys === true} onClose={close} />
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState title="No keys yet">
              Clients send a key as <Code>Authorization: Bearer …</Code>. Create the first one with “New key”.
            </EmptyState>
          ) : (
            <KeyTable keys={keys} totals={totals} mayManage={manageKeys} />
          )
        }
      </Loaded>
    </Page>
  );
}
