/** Orders texts by how well they fit a query. */
import { Table, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../client/call.ts';
import type { PlaygroundProps } from './playground.tsx';
import { QuestionForm } from './question-form.tsx';

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
  return (
    <QuestionForm
      label="Rerank"
      question={rerank}
      permission={permission}
      onSubmit={() => rerank.mutate(texts.split('\n').filter((line) => line.trim() !== ''))}
      answer={rerank.data && <RankedTexts texts={rerank.data} />}
    >
      <TextInput
        label="Query"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        required
        w="100%"
      />
      <Textarea
        label="Texts, one per line"
        value={texts}
        onChange={(event) => setTexts(event.currentTarget.value)}
        required
        autosize
        minRows={3}
        maxRows={12}
        w="100%"
      />
    </QuestionForm>
  );
}

function RankedTexts({ texts }: { texts: { index: number; score: number; text: string | undefined }[] }) {
  return (
    <Table aria-label="Texts by relevance" aria-live="polite">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Relevance</Table.Th>
          <Table.Th>Text</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {texts.map(({ index, score, text }) => (
          <Table.Tr key={index}>
            <Table.Td>{score.toFixed(4)}</Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{text}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
