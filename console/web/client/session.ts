/** The session and the user's permissions. */
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { AccessView, SessionView, SignInView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { CallError, call, clearCachedResponses } from './call.ts';
import { keyOf, useRead } from './namespace.ts';

export const SESSION = keyOf(routes.readSession, {});

const SESSION_INTERVAL_MS = 15_000;
/** Poll interval during an outage, so that recovery shows soon. */
const OUTAGE_INTERVAL_MS = 3_000;

/** null = signed out. */
export function useSession() {
  const cache = useQueryClient();
  return useQuery({
    queryKey: SESSION,
    queryFn: async ({ signal }) => {
      const session = await readSession(signal);
      // Another user may have signed in in another tab.
      if (!signal.aborted && session?.user !== cache.getQueryData<SessionView | null>(SESSION)?.user)
        clearUserData(cache);
      return session;
    },
    refetchInterval: ({ state }) => chooseInterval(state.data),
    staleTime: OUTAGE_INTERVAL_MS,
  });
}

/** No polling while signed out. */
const chooseInterval = (session: SessionView | null | undefined): number | false => {
  if (session === null) return false;
  return session?.redisAwaySince === null ? SESSION_INTERVAL_MS : OUTAGE_INTERVAL_MS;
};

export function useSignIn() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; namespace?: string }) => call(routes.signIn, {}, body),
    onSuccess: (session) => replaceSession(cache, session),
  });
}

/** How to sign in; undefined while that is unknown. Reading it again would lose the error, which is reported once. */
export function useSignInOptions(): { isUnknown: boolean; options: SignInView | undefined } {
  const { data, isPending, failureCount } = useQuery({
    queryKey: keyOf(routes.readSignIn, {}),
    queryFn: ({ signal }) => call(routes.readSignIn, {}, undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return { isUnknown: isPending && failureCount === 0, options: data };
}

/** Redirects to the identity provider; the browser returns to the current page. */
export function useOIDCSignIn() {
  return useMutation({
    mutationFn: (namespace: string) => {
      const { pathname, search } = window.location;
      return call(routes.startOIDC, {}, { returnTo: pathname + search, ...(namespace && { namespace }) });
    },
    onSuccess: ({ url }) => window.location.assign(url),
  });
}

export function useSignOut() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => call(routes.signOut, {}),
    onSuccess: async (elsewhere) => {
      await replaceSession(cache, null);
      if (elsewhere) window.location.assign(elsewhere.url);
    },
  });
}

async function readSession(signal: AbortSignal): Promise<SessionView | null> {
  try {
    return await call(routes.readSession, {}, undefined, signal);
  } catch (error) {
    if (error instanceof CallError && error.status === 401) return null;
    throw error;
  }
}

async function replaceSession(cache: QueryClient, session: SessionView | null): Promise<void> {
  // A response in flight would belong to the previous session.
  await cache.cancelQueries({ queryKey: SESSION });
  clearUserData(cache);
  cache.setQueryData(SESSION, session);
}

/** Removes cached data and queries of the previous user. */
function clearUserData(cache: QueryClient): void {
  clearCachedResponses();
  // Not clear(): the page would keep observing the removed session query.
  cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
}

const ACCESS_INTERVAL_MS = 60_000;
const ACCESS_RETRY_INTERVAL_MS = 3_000;

/** Fields are undefined until loaded. */
export function useAccess(): Partial<AccessView> {
  const { data } = useRead(
    routes.readAccess,
    {},
    { refetchInterval: ({ state }) => (state.data ? ACCESS_INTERVAL_MS : ACCESS_RETRY_INTERVAL_MS) },
  );
  return data ?? {};
}
