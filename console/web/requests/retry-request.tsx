/** Resubmits a failed or canceled request, and shows the new one. */
import type { RequestDetail } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { useFilters } from '../parts/filters.ts';
import { ErrorAlert } from '../parts/page-states.tsx';
import { useRequestInput } from './request-input.tsx';

export function RetryRequest({ request }: { request: RequestDetail }) {
  const { deployment, id } = request;
  const { change } = useFilters();
  const { usePlayground: mayRun } = useAccess();
  const { data: input } = useRequestInput(request);
  const retry = useWrite(
    routes.retryRequest,
    { deployment, id },
    {
      refreshes: [routes.listRequests, routes.readRequest],
      onSuccess: (made) => {
        announce(`Request ${id} submitted again as ${made.id}.`);
        change({ request: `${deployment}/${made.id}` });
      },
    },
  );
  const isKept = input !== undefined && input.parameters !== null && input.files.length === 0;
  return (
    <>
      {retry.error && <ErrorAlert error={retry.error} />}
      <AllowedButton
        isAllowed={mayRun && isKept}
        reason={
          mayRun === false
            ? "You don't have permission to use the playground in this namespace."
            : 'The input of this request isn’t kept.'
        }
        variant="default"
        size="sm"
        loading={retry.isPending}
        onClick={() => retry.mutate()}
        style={{ alignSelf: 'flex-start' }}
        aria-label={`Retry ${id}`}
      >
        Retry
      </AllowedButton>
    </>
  );
}
