/** Removes a request from the queue. */
import type { RequestView } from '../../api.ts';
import { useAccess } from '../client/session.ts';
import { PostButton } from '../parts/post-button.tsx';

interface CancelRequestProps {
  request: Pick<RequestView, 'id' | 'deployment' | 'status'>;
  size?: string;
}

export function CancelRequest({ request, size = 'sm' }: CancelRequestProps) {
  const { id, deployment, status } = request;
  const { cancelRequests } = useAccess();
  const isQueued = status === 'queued';
  return (
    <PostButton
      collection="requests"
      path={`${encodeURIComponent(deployment)}/${encodeURIComponent(id)}/cancel`}
      announcement={`Request ${id} canceled.`}
      isAllowed={cancelRequests && isQueued}
      reason={
        isQueued
          ? "You don't have permission to cancel requests in this namespace."
          : 'Only queued requests can be canceled; this one is running.'
      }
      size={size}
      aria-label={`Cancel ${id}`}
    >
      Cancel
    </PostButton>
  );
}
