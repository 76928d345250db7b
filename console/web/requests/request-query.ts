/** Polls a request until it has ended. */
import type { Query } from '@tanstack/react-query';
import type { RequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';

const RUNNING_INTERVAL_MS = 1_000;
/** Before links to results expire. */
const ENDED_INTERVAL_MS = 30 * 60_000;
/** After an error. */
const ERROR_INTERVAL_MS = 15_000;

export const hasEnded = ({ status }: Pick<RequestView, 'status'>): boolean =>
  status !== 'queued' && status !== 'running';

export function useRequest(deployment: string, id: string) {
  return useRead(
    routes.readRequest,
    { deployment, id },
    { refetchInterval: findPollInterval, staleTime: findPollInterval },
  );
}

/** Each read signs new links, which would reload results that are being viewed. */
export function findPollInterval<T extends Pick<RequestView, 'status'>>({ state }: Query<T>): number {
  const { data, errorUpdateCount } = state;
  if (data === undefined) return errorUpdateCount > 0 ? ERROR_INTERVAL_MS : RUNNING_INTERVAL_MS;
  return hasEnded(data) ? ENDED_INTERVAL_MS : RUNNING_INTERVAL_MS;
}
