/** Signing in with a Kubernetes bearer token. */
import {
  Alert,
  Button,
  Center,
  Code,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useSignIn } from '../client/session.ts';

export function SignInPage() {
  const [token, setToken] = useState('');
  const [namespace, setNamespace] = useState('');
  const signIn = useSignIn();
  const { mutate } = signIn;
  useEffect(() => {
    const linked = takeLinkToken();
    if (linked !== null) mutate({ token: linked });
  }, [mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate({ token, ...(namespace.trim() && { namespace: namespace.trim() }) });
  };
  const { error } = signIn;
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder radius="md" p="xl" w="100%" maw="28rem">
        <form onSubmit={submit}>
          <Stack>
            <div>
              <Group gap="xs" mb={4}>
                <img src="/icon.svg" alt="" width={26} height={26} />
                <Title order={1}>Berth</Title>
              </Group>
              <Text c="dimmed" size="sm">
                Sign in with a Kubernetes bearer token. You get the same permissions as this token.
              </Text>
            </div>
            {error && (
              <Alert color="red" role="alert">
                {error.message}
              </Alert>
            )}
            <PasswordInput
              label="Token"
              description={
                <>
                  For example, from <Code>kubectl create token NAME</Code>
                </>
              }
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="off"
              required
              autoFocus
            />
            <TextInput
              label="Namespace"
              description="Default namespace (optional)"
              value={namespace}
              onChange={(event) => setNamespace(event.currentTarget.value)}
            />
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost']);
const PREFIX = '#token=';

/**
 * Removes the token of `make run`'s link from the URL, so that it is not in the history; null if there is none. Only on loopback:
 * elsewhere, an attacker's link could sign a user in as the attacker.
 */
export function takeLinkToken(): string | null {
  const { hash, hostname, pathname, search } = window.location;
  if (!hash.startsWith(PREFIX) || !LOOPBACK_HOSTS.has(hostname)) return null;
  window.history.replaceState(window.history.state, '', pathname + search);
  return decodeURIComponent(hash.slice(PREFIX.length));
}
