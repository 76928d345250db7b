/** Removes a request from the queue. */
import type { RequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { announce } from '../parts/announcer.tsx';
import { PostButton } from '../parts/post-button.tsx';

interface CancelRequestProps {
  request: Pick<RequestView, 'id' | 'deployment' | 'status'>;
  size?: string;
}

export function CancelRequest({ request, size = 'sm' }: CancelRequestProps) {
  const { id, deployment, status } = request;
  const { cancelRequests } = useAccess();
  const cancel = useWrite(
    routes.cancelRequest,
    { deployment, id },
    {
      refreshes: [routes.listRequests, routes.readRequest],
      onSuccess: () => announce(`Request ${id} canceled.`),
    },
  );
  const isQueued = status === 'queued';
  return (
    <PostButton
      post={cancel}
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
