/** A request that was just created: its progress, then its result. */
import { Anchor, Paper, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { useNamespace } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { Loaded } from '../parts/page.tsx';
import { describeSpan } from '../parts/time-format.ts';
import { type FollowedRequestProps, useFollowedRequest } from './followed-query.ts';
import { RequestProgress } from './progress.tsx';
import { Result } from './result.tsx';

export function FollowedRequest(props: FollowedRequestProps) {
  const { deployment, id } = props;
  const namespace = useNamespace();
  const { readRequests } = useAccess();
  const query = useFollowedRequest(props);
  return (
    <Paper withBorder p="md" radius="md" w="100%" aria-live="polite">
      <Loaded query={query}>
        {(request) => (
          <Stack>
            <RequestProgress request={request} />
            <Result request={request} />
            {request.startedAt && request.completedAt && (
              <Text size="sm" c="dimmed">
                {describeSpan(request.startedAt, request.completedAt)}
              </Text>
            )}
            {readRequests && (
              <Anchor
                component={Link}
                to={`/${namespace}/requests?request=${encodeURIComponent(`${deployment}/${id}`)}`}
                size="sm"
              >
                View request
              </Anchor>
            )}
          </Stack>
        )}
      </Loaded>
    </Paper>
  );
}
