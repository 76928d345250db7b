/** Signing in with the identity provider, where there is one, or with a Kubernetes bearer token. */
import '../theme/later-styles.ts';
import {
  Alert,
  Button,
  Center,
  Code,
  Divider,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useOIDCSignIn, useSignIn, useSignInOptions } from '../client/session.ts';
import { PageLoader } from '../parts/page-states.tsx';

export function SignInPage() {
  const [token, setToken] = useState('');
  const [namespace, setNamespace] = useState('');
  const signIn = useSignIn();
  const oidcSignIn = useOIDCSignIn();
  const { isUnknown, options } = useSignInOptions();
  const { mutate } = signIn;
  useEffect(() => {
    const linked = takeLinkToken();
    if (linked !== null) mutate({ token: linked });
  }, [mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    oidcSignIn.reset();
    mutate({ token, ...(namespace.trim() && { namespace: namespace.trim() }) });
  };
  const beginOIDC = () => {
    signIn.reset();
    oidcSignIn.mutate(namespace.trim());
  };
  if (isUnknown) return <PageLoader />;
  const oidc = options?.oidc;
  // Once it has the address, the browser is on its way to the identity provider.
  const isLeaving = oidcSignIn.isPending || oidcSignIn.isSuccess;
  const lastError = signIn.isIdle && oidcSignIn.isIdle ? options?.error : undefined;
  const error = signIn.error?.message ?? oidcSignIn.error?.message ?? lastError;
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
                {oidc
                  ? 'Sign in with your account. You get the permissions that you have in Kubernetes.'
                  : 'Sign in with a Kubernetes bearer token. You get the same permissions as this token.'}
              </Text>
            </div>
            {error && (
              <Alert color="red" role="alert">
                {error}
              </Alert>
            )}
            {oidc && (
              <>
                <Button onClick={beginOIDC} loading={isLeaving} autoFocus>
                  Sign in with {oidc.name ?? 'single sign-on'}
                </Button>
                <Divider label="or with a Kubernetes bearer token" />
              </>
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
              autoFocus={!oidc}
            />
            <TextInput
              label="Namespace"
              description="Default namespace (optional)"
              value={namespace}
              onChange={(event) => setNamespace(event.currentTarget.value)}
            />
            <Button type="submit" variant={oidc ? 'default' : 'filled'} loading={signIn.isPending}>
              {oidc ? 'Sign in with token' : 'Sign in'}
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
