/** Writes down what is said in an audio file. */
import { FileInput, Group, Paper, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { playgroundRoutes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { Copyable } from '../parts/copyable.tsx';
import { formatMs } from '../usage/totals.ts';
import { BesideCode } from './call-code.tsx';
import { buildForm } from './media-fields.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { QuestionForm } from './question-form.tsx';
import { timeCall } from './timed-call.ts';

/** As the gateway takes them. */
const TYPES = '.flac,.mp3,.mp4,.mpeg,.mpga,.m4a,.ogg,.wav,.webm,audio/*';
/** In the code, before a file is chosen. */
const EXAMPLE = 'recording.wav';

export function TranscriptionPlayground({ deployment, permission }: PlaygroundProps) {
  const namespace = useNamespace();
  const { name, kind, modelId: model, baseURL } = deployment;
  const [file, setFile] = useState<File | null>(null);
  const [language, setLanguage] = useState('');
  const [prompt, setPrompt] = useState('');
  const fields = { language: language.trim() || undefined, prompt: prompt.trim() || undefined };
  const transcribe = useMutation({
    mutationFn: () =>
      timeCall(() =>
        call(playgroundRoutes.transcribe, { namespace, name }, buildForm({ model, ...fields, file })),
      ),
  });
  return (
    <BesideCode
      baseURL={baseURL}
      call={{ kind, body: { model, ...fields }, files: { file: file?.name ?? EXAMPLE } }}
    >
      <QuestionForm
        label="Transcribe"
        question={transcribe}
        permission={permission}
        onSubmit={() => transcribe.mutate()}
        answer={
          transcribe.data && (
            <Paper withBorder p="md" radius="md" w="100%" role="status" aria-label="Transcript">
              <Copyable text={transcribe.data.answer.text ?? ''} label="transcript" />
              <Text size="sm" c="dimmed" mt="xs">
                {formatMs(transcribe.data.tookMs)}
              </Text>
            </Paper>
          )
        }
      >
        <FileInput
          label="Audio file"
          placeholder="Choose a file"
          accept={TYPES}
          value={file}
          onChange={setFile}
          required
          clearable
          clearButtonProps={{ 'aria-label': 'Remove file' }}
          w={{ base: '100%', xs: 320 }}
        />
        <Group align="flex-start">
          <TextInput
            label="Language"
            description="Such as en"
            placeholder="Detected"
            value={language}
            onChange={(event) => setLanguage(event.currentTarget.value)}
            maxLength={20}
            w={140}
          />
          <TextInput
            label="Prompt"
            description="Names and terms that occur in it"
            placeholder="None"
            value={prompt}
            onChange={(event) => setPrompt(event.currentTarget.value)}
            maxLength={2_000}
            w={{ base: '100%', xs: 320 }}
          />
        </Group>
      </QuestionForm>
    </BesideCode>
  );
}
