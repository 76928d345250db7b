/** Embeds a text. */
import { Code, Paper, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { EmbeddingAnswer } from '../../api.ts';
import { playgroundRoutes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { countOf, formatMs } from '../usage/totals.ts';
import { BesideCode } from './call-code.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { QuestionForm } from './question-form.tsx';
import { type Timed, timeCall } from './timed-call.ts';

const SHOWN_NUMBERS = 8;
/** In the code, before a text is entered. */
const EXAMPLE = 'A harbor at dawn';

export function EmbeddingPlayground({ deployment, permission }: PlaygroundProps) {
  const namespace = useNamespace();
  const { name, kind, modelId: model, baseURL } = deployment;
  const [input, setInput] = useState('');
  const embed = useMutation({
    mutationFn: () => timeCall(() => call(playgroundRoutes.embed, { namespace, name }, { model, input })),
  });
  return (
    <BesideCode baseURL={baseURL} call={{ kind, body: { model, input: input || EXAMPLE } }}>
      <QuestionForm
        label="Embed"
        question={embed}
        permission={permission}
        onSubmit={() => embed.mutate()}
        answer={embed.data && <Embedding timed={embed.data} />}
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
    </BesideCode>
  );
}

function Embedding({ timed: { answer, tookMs } }: { timed: Timed<EmbeddingAnswer> }) {
  const [first] = answer.data ?? [];
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
      <Text size="sm" c="dimmed" mt="xs">
        {answer.usage && `${countOf(answer.usage.prompt_tokens, 'token')} · `}
        {formatMs(tookMs)}
      </Text>
    </Paper>
  );
}
