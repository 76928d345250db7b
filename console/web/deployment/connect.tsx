/** How to call a deployment: base URL and code examples. */
import { Anchor, Code, Stack, Tabs, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { useNamespace } from '../client/session.ts';
import { Copyable } from '../parts/copyable.tsx';
import { buildSnippet, LANGUAGES } from './snippets.ts';

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
          Put one of your{' '}
          <Anchor component={Link} to={`/${namespace}/keys`} inherit underline="always">
            API keys
          </Anchor>{' '}
          into the environment as <Code>API_KEY</Code>. Any OpenAI SDK will do.
        </Text>
        <Tabs defaultValue={LANGUAGES[0]} keepMounted={false}>
          <Tabs.List aria-label="Language">
            {LANGUAGES.map((language) => (
              <Tabs.Tab key={language} value={language}>
                {language}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {LANGUAGES.map((language) => (
            <Tabs.Panel key={language} value={language} pt="xs">
              <Copyable
                text={buildSnippet({ ...deployment, baseURL }, language)}
                label={`${language} example`}
              />
            </Tabs.Panel>
          ))}
        </Tabs>
      </div>
    </Stack>
  );
}
