/** Who may do what in the namespace, and what changed there. */
import '../theme/later-styles.ts';
import { Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ChangesView, MembersView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { Changes } from '../members/changes.tsx';
import { MemberList } from '../members/member-list.tsx';
import { Permissions } from '../members/permissions.tsx';
import { Loaded, Page } from '../parts/page.tsx';

const CHANGES_INTERVAL_MS = 30_000;

export function MembersPage() {
  const base = useBase();
  const members = useQuery({
    queryKey: [base, 'members'],
    queryFn: ({ signal }) => call<MembersView>('GET', `${base}/members`, undefined, signal),
  });
  const changes = useQuery({
    queryKey: [base, 'changes'],
    queryFn: ({ signal }) => call<ChangesView>('GET', `${base}/changes`, undefined, signal),
    refetchInterval: CHANGES_INTERVAL_MS,
  });
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
