/** Loading, empty and error states of a page. */
import { Alert, Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { describeFault } from './error-title.ts';

export function PageLoader() {
  return (
    <Center mih="40vh">
      <Loader role="status" aria-label="Loading" />
    </Center>
  );
}

/** `children`: what the user can do. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center mih="30vh">
      <Stack align="center" gap="xs" maw="32rem" ta="center">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" component="div">
          {children}
        </Text>
      </Stack>
    </Center>
  );
}

/** Shown instead of the sign-in form while it is unknown whether the user is signed in; retries automatically. */
export function Unreachable({ error }: { error: Error | null }) {
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack align="center" role="alert">
        <Loader role="status" aria-label="Retrying" />
        <Text>{error?.message ?? 'Connecting…'}</Text>
      </Stack>
    </Center>
  );
}

interface FaultProps {
  error: Error;
  onRetry?: () => void;
  /** Label of the button. */
  action?: string;
  title?: string;
}

export function ErrorAlert({ error, onRetry, action = 'Try again', title }: FaultProps) {
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle aria-hidden />}
      title={title ?? describeFault(error, navigator.onLine)}
      role="alert"
    >
      <Text size="sm">{error.message}</Text>
      {onRetry && (
        <Button mt="sm" size="xs" variant="default" onClick={onRetry}>
          {action}
        </Button>
      )}
    </Alert>
  );
}
