/** A button that sends one POST to the console's server and shows its error below. */
import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { useAction } from './action.ts';
import { AllowedButton } from './allowed-button.tsx';
import { announce } from './announcer.tsx';
import { ErrorAlert } from './page-states.tsx';

interface PostButtonProps {
  /** Path of the collection below the namespace, and key of its query, which is refreshed afterwards. */
  collection: string;
  /** Below the collection. */
  path: string;
  /** For screen readers, once it has succeeded. */
  announcement: string;
  isAllowed: boolean | undefined;
  /** Shown when it is not allowed. */
  reason: string;
  size: string;
  'aria-label': string;
  children: string;
}

export function PostButton({ collection, path, announcement, ...button }: PostButtonProps) {
  const base = useBase();
  const cache = useQueryClient();
  const post = useAction({
    mutationFn: () => call('POST', `${base}/${collection}/${path}`),
    onSuccess: () => announce(announcement),
    onSettled: () => cache.invalidateQueries({ queryKey: [base, collection] }),
  });
  return (
    <Stack gap={4} align="flex-start">
      <AllowedButton {...button} variant="default" loading={post.isPending} onClick={() => post.mutate()} />
      {post.error && <ErrorAlert error={post.error} />}
    </Stack>
  );
}
