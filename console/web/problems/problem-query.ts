/** What needs attention in the namespace. */
import { useQuery } from '@tanstack/react-query';
import type { ProblemsView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';

/** For what no watch covers; most of it comes with the feeds of deployments and of deliveries. */
const INTERVAL_MS = 30_000;

export function useProblems() {
  const base = useBase();
  const { isMissing } = useAccess();
  return useQuery({
    queryKey: [base, 'problems'],
    queryFn: ({ signal }) => call<ProblemsView>('GET', `${base}/problems`, undefined, signal),
    enabled: isMissing === false,
    refetchInterval: INTERVAL_MS,
  });
}
