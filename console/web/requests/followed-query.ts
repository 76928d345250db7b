/** Polls a request that was just created in a playground. */
import { useQuery } from '@tanstack/react-query';
import type { RelayedRequest, RequestDetail } from '../../api.ts';
import { playgroundRoutes, routes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { findPollInterval } from './request-query.ts';

type Field = 'id' | 'modality' | 'status' | 'outputURLs' | 'errorCode' | 'errorMessage';
/** `progress`, and the times: null where unknown. */
export type FollowedRequestView = Pick<RequestDetail, Field> & {
  progress: number | null;
} & Partial<Pick<RequestDetail, 'startedAt' | 'completedAt' | 'place'>>;

export interface FollowedRequestProps {
  deployment: string;
  id: string;
  /** No polling while hidden. */
  isShown: boolean;
}

/** From the log of requests, or without permission for it from the endpoint, which reports neither progress nor place. */
export function useFollowedRequest({ deployment, id, isShown }: FollowedRequestProps) {
  const namespace = useNamespace();
  const { readRequests } = useAccess();
  return useQuery({
    queryKey: ['followed', namespace, deployment, id, readRequests],
    queryFn: async ({ signal }): Promise<FollowedRequestView> =>
      readRequests
        ? call(routes.readRequest, { namespace, deployment, id }, undefined, signal)
        : translate(
            await call(playgroundRoutes.readRequest, { namespace, name: deployment, id }, undefined, signal),
          ),
    enabled: isShown && readRequests !== undefined,
    refetchInterval: findPollInterval,
    staleTime: findPollInterval,
  });
}

const translate = ({ output_urls, error_code, error_message, ...rest }: RelayedRequest) => ({
  ...rest,
  progress: null,
  outputURLs: output_urls ?? [],
  errorCode: error_code,
  errorMessage: error_message,
});
