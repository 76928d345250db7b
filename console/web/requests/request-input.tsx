/** What a request asked for, where the workspace keeps that after its end. */
import { Code, Stack, Text } from '@mantine/core';
import type { RequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useRead } from '../client/namespace.ts';
import { Loaded } from '../parts/page.tsx';

export function useRequestInput({ deployment, id }: Pick<RequestView, 'deployment' | 'id'>) {
  return useRead(routes.readRequestInput, { deployment, id }, { staleTime: Number.POSITIVE_INFINITY });
}

export function RequestInput({ request }: { request: Pick<RequestView, 'deployment' | 'id'> }) {
  const query = useRequestInput(request);
  return (
    <Stack gap={4} component="section" aria-label="Input">
      <Text fw={600} size="sm">
        Input
      </Text>
      <Loaded query={query}>
        {({ parameters, files }) =>
          parameters === null ? (
            <Text size="sm" c="dimmed">
              The input isn’t kept. A cluster admin can keep inputs with <Code>spec.keepInputs</Code> of the
              Workspace.
            </Text>
          ) : (
            <>
              <Code block mah={240} style={{ overflow: 'auto', whiteSpace: 'pre-wrap' }} tabIndex={0}>
                {JSON.stringify(parameters, null, 2)}
              </Code>
              {files.map(({ fileName, bytes }) => (
                <Text key={fileName} size="xs" c="dimmed">
                  {fileName} ({bytes} bytes), not kept after the end
                </Text>
              ))}
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}
