/** The card of an object: its name and state, then what is known of it and can be done with it. */
import { Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { StateBadge } from './state-badge.tsx';

export function ObjectCard({ name, state, children }: { name: string; state: string; children: ReactNode }) {
  return (
    <Paper component="article" withBorder p="md" radius="md" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Title>
          <StateBadge state={state} />
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
