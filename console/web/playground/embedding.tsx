/** Embeds a text. */
import { Code, Paper, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../client/call.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import type { PlaygroundProps } from './playground.tsx';

const SHOWN_NUMBERS = 8;

interface EmbeddingAnswer {
  data: { embedding: number[] }[];
  usage?: { prompt_tokens: number };
}

export function EmbeddingPlayground({ deployment, path, permission }: PlaygroundProps) {
  const [input, setInput] = useState('');
  const embed = useMutation({
    mutationFn: () =>
      call<EmbeddingAnswer>('POST', `${path}/embeddings`, { model: deployment.modelId, input }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (permission.isAllowed) embed.mutate();
  };
  const [first] = embed.data?.data ?? [];
  return (
    <form onSubmit={submit}>
      <Stack align="flex-start">
        <Textarea
          label="Text"
          value={input}
          onChange={(event) => setInput(event.currentTarget.value)}
          required
          autosize
          minRows={2}
          maxRows={8}
          w="100%"
        />
        <AllowedButton type="submit" loading={embed.isPending} {...permission}>
          Embed
        </AllowedButton>
        {embed.error && <ErrorAlert error={embed.error} />}
        {first && (
          <Paper withBorder p="md" radius="md" w="100%" role="status">
            <Text fw={600}>{first.embedding.length} dimensions</Text>
            <Code block mt="xs" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {first.embedding
                .slice(0, SHOWN_NUMBERS)
                .map((number) => number.toFixed(6))
                .join(', ')}
              {first.embedding.length > SHOWN_NUMBERS && ', …'}
            </Code>
            {embed.data?.usage && (
              <Text size="sm" c="dimmed" mt="xs">
                {embed.data.usage.prompt_tokens} tokens
              </Text>
            )}
          </Paper>
        )}
      </Stack>
    </form>
  );
}
