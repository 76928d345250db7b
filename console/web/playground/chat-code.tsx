/** The call that the playground makes, as code. */
import { Box, Title } from '@mantine/core';
import { type ChatBody, writeChatSnippet } from '../deployment/chat-snippets.ts';
import { CodeExamples } from '../deployment/code-examples.tsx';

export function ChatCode({ baseURL, body }: { baseURL: string; body: ChatBody }) {
  return (
    <section aria-labelledby="playground-code">
      <Title order={2} size="h4" mb={4} id="playground-code">
        View code
      </Title>
      {/* Long conversations. */}
      <Box mah="60vh" style={{ overflowY: 'auto' }} tabIndex={0} role="group" aria-label="Code of this call">
        <CodeExamples write={(language) => writeChatSnippet(baseURL, body, language)} />
      </Box>
    </section>
  );
}
