/** A request that was just made: how far it is, then what came of it. */
import { Anchor, Paper, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { Loaded } from '../parts/page.tsx';
import { useNamespace } from '../session.ts';
import { RequestProgress } from './progress.tsx';
import { useRequest } from './request-query.ts';
import { Result } from './result.tsx';

export function FollowedRequest({ deployment, id }: { deployment: string; id: string }) {
  const namespace = useNamespace();
  const query = useRequest(deployment, id);
  return (
    <Paper withBorder p="md" radius="md" w="100%" aria-live="polite">
      <Loaded query={query}>
        {(request) => (
          <Stack>
            <RequestProgress request={request} />
            <Result request={request} />
            <Anchor
              component={Link}
              to={`/${namespace}/requests?request=${encodeURIComponent(`${deployment}/${id}`)}`}
              size="sm"
            >
              See it among the requests
            </Anchor>
          </Stack>
        )}
      </Loaded>
    </Paper>
  );
}
