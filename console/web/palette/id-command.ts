/** Where a pasted ID leads: to the drawer of what it names. */
import { useQuery } from '@tanstack/react-query';
import { routes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { type Command, readId } from './commands.ts';

interface FoundId {
  command: Command | null;
  isPending: boolean;
}

export function useIdCommand(text: string): FoundId {
  const namespace = useNamespace();
  const { readRequests = false, readDeliveries = false } = useAccess();
  const id = readId(text);
  const isAllowed = id?.startsWith('req_') ? readRequests : readDeliveries;
  const { data, isLoading } = useQuery({
    queryKey: ['palette', namespace, id],
    queryFn: ({ signal }) => findPath(namespace, id!, signal),
    enabled: id !== null && isAllowed,
    refetchInterval: false,
    retry: false,
  });
  return {
    command: id !== null && data ? { group: 'IDs', label: id, path: data } : null,
    isPending: isLoading,
  };
}

/** null: there is nothing of this ID. */
async function findPath(namespace: string, id: string, signal: AbortSignal): Promise<string | null> {
  if (id.startsWith('dlv_')) return `deliveries?delivery=${id}`;
  if (id.startsWith('req_')) {
    const found = await call(routes.listRequests, { namespace, id }, undefined, signal);
    const [request] = found.requests;
    return request ? `requests?request=${encodeURIComponent(`${request.deployment}/${id}`)}` : null;
  }
  const deliveries = await call(routes.listDeliveries, { namespace, request: id }, undefined, signal);
  if (deliveries.length === 0) return null;
  const [first, second] = deliveries;
  return second ? `deliveries?request=${id}` : `deliveries?delivery=${first!.id}`;
}
