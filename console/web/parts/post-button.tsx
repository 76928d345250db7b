/** A button that starts an action and shows its error below. */
import { Stack } from '@mantine/core';
import { AllowedButton } from './allowed-button.tsx';
import { ErrorAlert } from './page-states.tsx';

interface PostButtonProps {
  post: { mutate: () => void; isPending: boolean; error: Error | null };
  isAllowed: boolean | undefined;
  /** Shown when it is not allowed. */
  reason: string;
  size: string;
  'aria-label': string;
  children: string;
}

export function PostButton({ post, ...button }: PostButtonProps) {
  return (
    <Stack gap={4} align="flex-start">
      <AllowedButton {...button} variant="default" loading={post.isPending} onClick={() => post.mutate()} />
      {post.error && <ErrorAlert error={post.error} />}
    </Stack>
  );
}
