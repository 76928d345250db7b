/** The API of the namespace in the page's URL. */
import {
  type QueryClient,
  type QueryKey,
  type UseMutationOptions,
  type UseQueryOptions,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useParams } from 'react-router';
import type { AnswerOf, Args, BodyOf, ParamsOf, Route } from '../../routes.ts';
import { useAction } from './action.ts';
import { request } from './call.ts';

export const useNamespace = (): string => useParams().namespace ?? '';

/** Fewer arguments match all queries that have these. */
export const keyOf = ({ path }: Route, args: Args): QueryKey => [path, args];

/** Parameters of a path in the namespace. */
type Rest<R extends Route> = Omit<ParamsOf<R>, 'namespace'>;
type Reading<R extends Route> = Omit<UseQueryOptions<AnswerOf<R>>, 'queryKey' | 'queryFn'>;
type Writing<R extends Route> = Omit<UseMutationOptions<AnswerOf<R>, Error, BodyOf<R>>, 'mutationFn'>;

/** `args`: what the path needs, and the query. */
export function useRead<R extends Route>(
  route: R,
  ...[args, options]: keyof Rest<R> extends never
    ? [args?: Args, options?: Reading<R>]
    : [args: Rest<R> & Args, options?: Reading<R>]
) {
  const all = { namespace: useNamespace(), ...args };
  return useQuery<AnswerOf<R>>({
    ...options,
    queryKey: keyOf(route, all),
    queryFn: ({ signal }) => request(route, all, undefined, signal),
  });
}

/** An action that sends its variables as the body of a route. `refreshes`: whose data is then read again. */
export function useWrite<R extends Route>(
  route: R,
  args: Rest<R> & Args,
  { refreshes, ...options }: Writing<R> & { refreshes: readonly Route[] },
) {
  const namespace = useNamespace();
  const cache = useQueryClient();
  return useAction<AnswerOf<R>, BodyOf<R>>({
    mutationFn: (body) => request(route, { namespace, ...args }, body),
    onSettled: () => refresh(cache, namespace, refreshes),
    ...options,
  });
}

export function useRefresh(): (...routes: Route[]) => Promise<unknown> {
  const namespace = useNamespace();
  const cache = useQueryClient();
  return (...routes) => refresh(cache, namespace, routes);
}

/** Reads the data of routes again where the page shows it, whatever their other arguments, if these are `wanted`. */
export const refresh = (
  cache: QueryClient,
  namespace: string,
  routes: readonly Route[],
  wanted: (args: Args) => boolean = () => true,
): Promise<unknown> =>
  Promise.all(
    routes.map((route) =>
      cache.invalidateQueries({
        queryKey: keyOf(route, { namespace }),
        predicate: ({ queryKey: [, args] }) => wanted(args as Args),
      }),
    ),
  );
