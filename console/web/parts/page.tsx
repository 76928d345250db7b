/** The frame of a page: its title, what it is for, what can be done there. */
import { Group, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { Fault, PageLoader } from './page-states.tsx';

export function Page(props: { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, about, actions, children } = props;
  useEffect(() => {
    document.title = `${title} · Berth`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" wrap="wrap">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {about && (
            <Text c="dimmed" size="sm" component="div" maw="48rem">
              {about}
            </Text>
          )}
        </div>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}

/** Shows what a query found, or its state. What was found stays while a refresh fails. */
export function Loaded<T>(props: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  const { query, children } = props;
  if (query.data !== undefined)
    return (
      <>
        {query.error && <Fault error={query.error} onRetry={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  if (query.error) return <Fault error={query.error} onRetry={() => void query.refetch()} />;
  return <PageLoader />;
}
