/** Layout of a page: title, description, actions. */
import { Group, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { CallError } from '../client/call.ts';
import { ErrorAlert, PageLoader } from './page-states.tsx';

export function Page(props: { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, about, actions, children } = props;
  useEffect(() => {
    document.title = `${title} · Berth`;
  }, [title]);
  return (
    <Stack gap="lg" maw="90rem">
      <Group justify="space-between" align="flex-start" wrap="wrap">
        <div>
          <Title order={1} tabIndex={-1} style={{ outline: 'none' }}>
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

/** When the focused element is removed, moves focus to the start of the page instead of the document. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('h1')?.focus();
}

/** Shows the data of a query, or its state. Data stays visible while a refresh fails. */
type Shown<T> = Pick<
  UseQueryResult<T>,
  'data' | 'error' | 'isPlaceholderData' | 'errorUpdateCount' | 'isFetching'
> & {
  refetch: () => unknown;
};

export function Loaded<T>(props: { query: Shown<T>; children: (data: T) => ReactNode }) {
  const { query, children } = props;
  const data = findShown(query);
  const error = useLastError(query, data !== undefined);
  const fault = error && <ErrorAlert error={error} onRetry={() => void query.refetch()} />;
  if (data === undefined) return fault ?? <PageLoader />;
  return (
    <>
      {fault}
      {children(data)}
    </>
  );
}

/** undefined also after permission was lost, and for data of another filter when this one fails. */
function findShown<T>({ data, error, isPlaceholderData, errorUpdateCount }: Shown<T>): T | undefined {
  const isRefused = error instanceof CallError && error.status === 403;
  return isRefused || (isPlaceholderData && errorUpdateCount > 0) ? undefined : data;
}

/** A query without data clears its error on each retry: the page would flicker and announce it each time. */
export function useLastError(query: Shown<unknown>, isShown: boolean): Error | null {
  const [last, setLast] = useState(query.error);
  if (query.error && query.error !== last) setLast(query.error);
  const isAskedAgain = !isShown && query.isFetching && query.errorUpdateCount > 0;
  return query.error ?? (isAskedAgain ? last : null);
}
