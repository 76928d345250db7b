/** Polls a request that was just created in a playground. */
import { useQuery } from '@tanstack/react-query';
import type { RequestDetail } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { findPollInterval } from './request-query.ts';

type Field = 'id' | 'modality' | 'status' | 'outputURLs' | 'errorCode' | 'errorMessage';
/** `progress`, and the times: null where unknown. */
export type FollowedRequestView = Pick<RequestDetail, Field> & {
  progress: number | null;
} & Partial<Pick<RequestDetail, 'startedAt' | 'completedAt'>>;

/** The response of an endpoint. */
interface EndpointRequest extends Pick<RequestDetail, 'id' | 'modality' | 'status'> {
  output_urls?: string[];
  error_code: string | null;
  error_message: string | null;
}

export interface FollowedRequestProps {
  deployment: string;
  id: string;
  /** Path of the deployment's endpoint, with /v1. */
  path: string;
  /** No polling while hidden. */
  isShown: boolean;
}

/** From the log of requests, or without permission for it from the endpoint, which does not report progress. */
export function useFollowedRequest({ deployment, id, path, isShown }: FollowedRequestProps) {
  const base = useBase();
  const { readRequests } = useAccess();
  return useQuery({
    queryKey: [base, 'followed', deployment, id, readRequests],
    queryFn: async ({ signal }): Promise<FollowedRequestView> =>
      readRequests
        ? call<RequestDetail>('GET', `${base}/requests/${deployment}/${id}`, undefined, signal)
        : translate(await call<EndpointRequest>('GET', `${path}/requests/${id}`, undefined, signal)),
    enabled: isShown && readRequests !== undefined,
    refetchInterval: findPollInterval,
    staleTime: findPollInterval,
  });
}

const translate = ({ output_urls, error_code, error_message, ...rest }: EndpointRequest) => ({
  ...rest,
  progress: null,
  outputURLs: output_urls ?? [],
  errorCode: error_code,
  errorMessage: error_message,
});
