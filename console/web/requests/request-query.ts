/** One request, followed until its end. */
import { useQuery } from '@tanstack/react-query';
import type { RequestDetail, RequestView } from '../../api.ts';
import { call } from '../call.ts';
import { useBase } from '../session.ts';

const RUNNING_MS = 1_000;
/** Before the links to results run out. */
const ENDED_MS = 30 * 60_000;

export const hasEnded = ({ status }: Pick<RequestView, 'status'>): boolean =>
  status !== 'queued' && status !== 'running';

export function useRequest(deployment: string, id: string) {
  const base = useBase();
  // Each look signs new links: results that are being watched must not be loaded anew.
  const findPace = (request: RequestDetail | undefined) =>
    request && hasEnded(request) ? ENDED_MS : RUNNING_MS;
  return useQuery({
    queryKey: [base, 'requests', deployment, id],
    queryFn: ({ signal }) =>
      call<RequestDetail>(
        'GET',
        `${base}/requests/${encodeURIComponent(deployment)}/${encodeURIComponent(id)}`,
        undefined,
        signal,
      ),
    refetchInterval: ({ state }) => findPace(state.data),
    staleTime: ({ state }) => findPace(state.data),
  });
}
