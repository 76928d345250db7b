/** What needs attention in the namespace, and its number beside the name of the page. */
import { Badge } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ProblemsView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';

export function ProblemCount() {
  const { data } = useProblems();
  if (!data || data.total === 0) return null;
  const hasErrors = data.problems.some(({ severity }) => severity === 'error');
  return (
    <Badge size="sm" circle={data.total < 10} variant="filled" color={hasErrors ? 'red.8' : 'gray.7'}>
      {data.total}
    </Badge>
  );
}

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
