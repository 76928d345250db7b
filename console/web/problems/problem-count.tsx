/** What needs attention in the namespace, and its number beside the name of the page. */
import { Badge } from '@mantine/core';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';

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
  const { isMissing } = useAccess();
  return useRead(routes.listProblems, {}, { enabled: isMissing === false, refetchInterval: INTERVAL_MS });
}
