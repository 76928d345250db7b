/** Who may do what in the namespace, and what changed there. */
import '../theme/later-styles.ts';
import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { Changes } from '../members/changes.tsx';
import { MemberList } from '../members/member-list.tsx';
import { Permissions } from '../members/permissions.tsx';
import { Loaded, Page } from '../parts/page.tsx';

const CHANGES_INTERVAL_MS = 30_000;

export function MembersPage() {
  const members = useRead(routes.listMembers);
  const changes = useRead(routes.listChanges, {}, { refetchInterval: CHANGES_INTERVAL_MS });
  return (
    <Page title="Members" about="Who can do what in this namespace, and what changed.">
      <Section title="Your permissions">
        <Permissions />
      </Section>
      <Loaded query={members}>
        {({ members }) => (
          <>
            <Section title="Role bindings">
              <MemberList members={members} />
            </Section>
            <Section title="Recent changes">
              <Loaded query={changes}>{(changes) => <Changes {...changes} />}</Loaded>
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
