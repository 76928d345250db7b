/** What a page shows when it has nothing to show yet, nothing at all, or an error. */
import { Alert, Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';

export function PageLoader() {
  return (
    <Center mih="40vh">
      <Loader aria-label="Loading" />
    </Center>
  );
}

/** `children`: what to do about it. */
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

/** Instead of a form for signing in: whether somebody is signed in is not known, and asked again by itself. */
export function Unreachable({ error }: { error: Error | null }) {
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack align="center" role="alert">
        <Loader aria-label="Retrying" />
        <Text>{error?.message ?? 'Connecting…'}</Text>
      </Stack>
    </Center>
  );
}

interface FaultProps {
  error: Error;
  onRetry?: () => void;
  /** What the button says. */
  action?: string;
}

export function Fault({ error, onRetry, action = 'Try again' }: FaultProps) {
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="Something went wrong" role="alert">
      <Text size="sm">{error.message}</Text>
      {onRetry && (
        <Button mt="sm" size="xs" variant="default" onClick={onRetry}>
          {action}
        </Button>
      )}
    </Alert>
  );
}
