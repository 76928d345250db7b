/** The number of problems, beside the name of their page. */
import { Badge } from '@mantine/core';
import { useProblems } from './problem-query.ts';

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
