/** Embeds a text. */
import { Code, Paper, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../client/call.ts';
import type { PlaygroundProps } from './playground.tsx';
import { QuestionForm } from './question-form.tsx';

const SHOWN_NUMBERS = 8;

interface EmbeddingAnswer {
  data?: { embedding: number[] }[];
  usage?: { prompt_tokens: number };
}

export function EmbeddingPlayground({ deployment, path, permission }: PlaygroundProps) {
  const [input, setInput] = useState('');
  const embed = useMutation({
    mutationFn: () =>
      call<EmbeddingAnswer>('POST', `${path}/embeddings`, { model: deployment.modelId, input }),
  });
  return (
    <QuestionForm
      label="Embed"
      question={embed}
      permission={permission}
      onSubmit={() => embed.mutate()}
      answer={embed.data && <Embedding answer={embed.data} />}
    >
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
    </QuestionForm>
  );
}

function Embedding({ answer: { data, usage } }: { answer: EmbeddingAnswer }) {
  const [first] = data ?? [];
  if (!first) return null;
  return (
    <Paper withBorder p="md" radius="md" w="100%" role="status">
      <Text fw={600}>{first.embedding.length} dimensions</Text>
      <Code block mt="xs" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {first.embedding
          .slice(0, SHOWN_NUMBERS)
          .map((number) => number.toFixed(6))
          .join(', ')}
        {first.embedding.length > SHOWN_NUMBERS && ', …'}
      </Code>
      {usage && (
        <Text size="sm" c="dimmed" mt="xs">
          {usage.prompt_tokens} tokens
        </Text>
      )}
    </Paper>
  );
}
