/** Orders texts by how well they fit a query. */
import { Table, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { playgroundRoutes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { formatMs } from '../usage/totals.ts';
import { BesideCode } from './call-code.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { QuestionForm } from './question-form.tsx';
import { timeCall } from './timed-call.ts';

/** In the code, before they are entered. */
const EXAMPLE = {
  query: 'Where do ships dock?',
  documents: ['Bread is baked at night.', 'Ships dock at a berth.'],
};

export function RerankPlayground({ deployment, permission }: PlaygroundProps) {
  const namespace = useNamespace();
  const { name, kind, modelId: model, baseURL } = deployment;
  const [query, setQuery] = useState('');
  const [texts, setTexts] = useState('');
  const documents = texts.split('\n').filter((line) => line.trim() !== '');
  const rerank = useMutation({
    mutationFn: async (documents: string[]) => {
      const body = { model, query, documents, return_documents: false };
      const { answer, tookMs } = await timeCall(() =>
        call(playgroundRoutes.rerank, { namespace, name }, body),
      );
      const ranked = answer.results.map(({ index, relevance_score: score }) => ({
        index,
        score,
        text: documents[index],
      }));
      return { ranked, tookMs };
    },
  });
  const example = {
    query: query || EXAMPLE.query,
    documents: documents.length > 0 ? documents : EXAMPLE.documents,
  };
  return (
    <BesideCode baseURL={baseURL} call={{ kind, body: { model, ...example } }}>
      <QuestionForm
        label="Rerank"
        question={rerank}
        permission={permission}
        onSubmit={() => rerank.mutate(documents)}
        answer={
          rerank.data && (
            <>
              <RankedTexts texts={rerank.data.ranked} />
              <Text size="sm" c="dimmed">
                {formatMs(rerank.data.tookMs)}
              </Text>
            </>
          )
        }
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
    </BesideCode>
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
