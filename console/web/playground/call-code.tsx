/** A playground, and beside it the call that it makes, as code. */
import { Box, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type EndpointCall, writeCallSnippet } from '../deployment/call-snippets.ts';
import { CodeExamples } from '../deployment/code-examples.tsx';

interface BesideCodeProps {
  /** null while the deployment has none. */
  baseURL: string | null;
  call: EndpointCall;
  /** Above the code. */
  settings?: ReactNode;
  children: ReactNode;
}

export function BesideCode({ baseURL, call, settings, children }: BesideCodeProps) {
  return (
    <div className="beside">
      <Stack>{children}</Stack>
      <Stack gap="lg">
        {settings}
        {baseURL !== null && <CallCode baseURL={baseURL} call={call} />}
      </Stack>
    </div>
  );
}

function CallCode({ baseURL, call }: { baseURL: string; call: EndpointCall }) {
  return (
    <section aria-labelledby="playground-code">
      <Title order={2} size="h4" mb={4} id="playground-code">
        View code
      </Title>
      {/* Long conversations. */}
      <Box mah="60vh" style={{ overflowY: 'auto' }} tabIndex={0} role="group" aria-label="Code for this call">
        <CodeExamples write={(language) => writeCallSnippet(baseURL, call, language)} />
      </Box>
    </section>
  );
}
