/** Who is signed in, and what they may do. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from 'react-router';
import type { AccessView, SessionView } from '../api.ts';
import { CallError, call } from './call.ts';

const SESSION = ['session'];

/** null = nobody. */
export function useSession() {
  return useQuery({
    queryKey: SESSION,
    queryFn: async () => {
      try {
        return await call<SessionView>('GET', '/api/session');
      } catch (error) {
        if (error instanceof CallError && error.status === 401) return null;
        throw error;
      }
    },
    refetchInterval: 60_000,
    staleTime: 30_000,
  });
}

export function useSignIn() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; namespace?: string }) =>
      call<SessionView>('POST', '/api/session', body),
    onSuccess: (session) => cache.setQueryData(SESSION, session),
  });
}

export function useSignOut() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => call('DELETE', '/api/session'),
    onSuccess: () => {
      // Not by clear(): the page would go on watching a query that is gone.
      cache.setQueryData(SESSION, null);
      cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
    },
  });
}

/** The namespace of the page's address. */
export function useNamespace(): string {
  return useParams().namespace ?? '';
}

/** Where the API has what belongs to the namespace of the page. */
export function useBase(): string {
  return `/api/namespaces/${useNamespace()}`;
}

/** Everything is refused until it is known. */
export function useAccess(): Partial<AccessView> {
  const base = useBase();
  const { data } = useQuery({
    queryKey: [base, 'access'],
    queryFn: () => call<AccessView>('GET', `${base}/access`),
    refetchInterval: 60_000,
  });
  return data ?? {};
}
