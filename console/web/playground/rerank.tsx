/** Orders texts by how well they fit a query. */
import { Stack, Table, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../client/call.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import type { PlaygroundProps } from './playground.tsx';

interface RerankAnswer {
  results: { index: number; relevance_score: number }[];
}

export function RerankPlayground({ deployment, path, permission }: PlaygroundProps) {
  const [query, setQuery] = useState('');
  const [texts, setTexts] = useState('');
  const rerank = useMutation({
    mutationFn: async (documents: string[]) => {
      const body = { model: deployment.modelId, query, documents, return_documents: false };
      const { results } = await call<RerankAnswer>('POST', `${path}/rerank`, body);
      return results.map(({ index, relevance_score: score }) => ({ index, score, text: documents[index] }));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (permission.isAllowed) rerank.mutate(texts.split('\n').filter((line) => line.trim() !== ''));
  };
  return (
    <form onSubmit={submit}>
      <Stack align="flex-start">
        <TextInput
          label="Query"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          required
          w="100%"
        />
        <Textarea
          label="Texts, one a line"
          value={texts}
          onChange={(event) => setTexts(event.currentTarget.value)}
          required
          autosize
          minRows={3}
          maxRows={12}
          w="100%"
        />
        <AllowedButton type="submit" loading={rerank.isPending} {...permission}>
          Rerank
        </AllowedButton>
        {rerank.error && <ErrorAlert error={rerank.error} />}
        {rerank.data && (
          <Table aria-label="Texts by relevance" aria-live="polite">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Relevance</Table.Th>
                <Table.Th>Text</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rerank.data.map(({ index, score, text }) => (
                <Table.Tr key={index}>
                  <Table.Td>{score.toFixed(4)}</Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{text}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Stack>
    </form>
  );
}
