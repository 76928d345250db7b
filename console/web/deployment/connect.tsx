/** How to call a deployment: base URL and code examples. */
import { Anchor, Code, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { Copyable } from '../parts/copyable.tsx';
import { CodeExamples } from './code-examples.tsx';
import { buildSnippet } from './snippets.ts';

export function Connect({ deployment }: { deployment: DeploymentView }) {
  const namespace = useNamespace();
  const { baseURL } = deployment;
  if (baseURL === null) return <Text c="dimmed">The deployment has no URL yet.</Text>;
  return (
    <Stack>
      <div>
        <Title order={2} size="h4" mb="xs">
          Base URL
        </Title>
        <Copyable text={baseURL} label="base URL" />
      </div>
      <div>
        <Title order={2} size="h4" mb={4}>
          Code examples
        </Title>
        <Text size="sm" c="dimmed" mb="xs">
          Set the environment variable <Code>BERTH_KEY</Code> to one of your{' '}
          <Anchor component={Link} to={`/${namespace}/keys`} inherit underline="always">
            API keys
          </Anchor>
          . Any OpenAI SDK works.
        </Text>
        <CodeExamples write={(language) => buildSnippet({ ...deployment, baseURL }, language)} />
      </div>
    </Stack>
  );
}
