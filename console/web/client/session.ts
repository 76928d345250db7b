/** Who is signed in, and what they may do. */
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from 'react-router';
import type { AccessView, SessionView } from '../../api.ts';
import { CallError, call, forgetAnswers } from './call.ts';

const SESSION = ['session'];

const KNOWN_SESSION_MS = 15_000;
/** While something is away, so that its return shows soon. */
const OUTAGE_MS = 3_000;

/** null = nobody. */
export function useSession() {
  const cache = useQueryClient();
  return useQuery({
    queryKey: SESSION,
    queryFn: async ({ signal }) => {
      const session = await readSession(signal);
      // Another tab may have signed somebody else in.
      if (!signal.aborted && session?.user !== cache.getQueryData<SessionView | null>(SESSION)?.user)
        forget(cache);
      return session;
    },
    refetchInterval: ({ state }) => chooseInterval(state.data),
    staleTime: OUTAGE_MS,
  });
}

/** Signed out, the page waits for whoever comes back to it. */
const chooseInterval = (session: SessionView | null | undefined): number | false => {
  if (session === null) return false;
  return session?.redisAwaySince === null ? KNOWN_SESSION_MS : OUTAGE_MS;
};

export function useSignIn() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; namespace?: string }) =>
      call<SessionView>('POST', '/api/session', body),
    onSuccess: (session) => replaceSession(cache, session),
  });
}

export function useSignOut() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => call('DELETE', '/api/session'),
    onSuccess: () => replaceSession(cache, null),
  });
}

async function readSession(signal: AbortSignal): Promise<SessionView | null> {
  try {
    return await call<SessionView>('GET', '/api/session', undefined, signal);
  } catch (error) {
    if (error instanceof CallError && error.status === 401) return null;
    throw error;
  }
}

async function replaceSession(cache: QueryClient, session: SessionView | null): Promise<void> {
  // An answer that is under way would tell of the session before.
  await cache.cancelQueries({ queryKey: SESSION });
  forget(cache);
  cache.setQueryData(SESSION, session);
}

/** Drops all that was read for whoever was signed in, and what is being read. */
function forget(cache: QueryClient): void {
  forgetAnswers();
  // Not by clear(): the page would go on watching a session that is gone.
  cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
}

/** The namespace of the page's address. */
export function useNamespace(): string {
  return useParams().namespace ?? '';
}

/** Where the API has what belongs to the namespace of the page. */
export function useBase(): string {
  return `/api/namespaces/${useNamespace()}`;
}

const KNOWN_MS = 60_000;
const UNKNOWN_MS = 3_000;

/** Everything is undefined until it is known. */
export function useAccess(): Partial<AccessView> {
  const base = useBase();
  const { data } = useQuery({
    queryKey: [base, 'access'],
    queryFn: () => call<AccessView>('GET', `${base}/access`),
    refetchInterval: ({ state }) => (state.data ? KNOWN_MS : UNKNOWN_MS),
  });
  return data ?? {};
}
