/** One request, followed until its end. */
import { type Query, useQuery } from '@tanstack/react-query';
import type { RequestDetail, RequestView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';

const RUNNING_MS = 1_000;
/** Before the links to results run out. */
const ENDED_MS = 30 * 60_000;
/** Where nothing was found. */
const UNKNOWN_MS = 15_000;

export const hasEnded = ({ status }: Pick<RequestView, 'status'>): boolean =>
  status !== 'queued' && status !== 'running';

export function useRequest(deployment: string, id: string) {
  const base = useBase();
  return useQuery({
    queryKey: [base, 'requests', deployment, id],
    queryFn: ({ signal }) =>
      call<RequestDetail>(
        'GET',
        `${base}/requests/${encodeURIComponent(deployment)}/${encodeURIComponent(id)}`,
        undefined,
        signal,
      ),
    refetchInterval: findPace,
    staleTime: findPace,
  });
}

/** Each look signs new links: results that are being watched must not be loaded anew. */
export function findPace<T extends Pick<RequestView, 'status'>>({ state }: Query<T>): number {
  const { data, errorUpdateCount } = state;
  if (data === undefined) return errorUpdateCount > 0 ? UNKNOWN_MS : RUNNING_MS;
  return hasEnded(data) ? ENDED_MS : RUNNING_MS;
}
