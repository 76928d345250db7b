/** Mutations that are started with a click. */
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

/**
 * A mutation that ignores further calls while one is in progress: two clicks within one frame both see it idle, and
 * would create two objects, one of whose secrets is never shown.
 */
export function useAction<Data, Variables = void>(
  options: UseMutationOptions<Data, Error, Variables>,
): UseMutationResult<Data, Error, Variables> {
  const isBusy = useRef(false);
  const mutation = useMutation<Data, Error, Variables>({
    ...options,
    onSettled: (...outcome) => {
      isBusy.current = false;
      return options.onSettled?.(...outcome);
    },
  });
  const mutate: typeof mutation.mutate = (...call) => {
    if (isBusy.current) return;
    isBusy.current = true;
    mutation.mutate(...call);
  };
  return { ...mutation, mutate };
}
