/** Speaks a text. */
import { Anchor, Group, NumberInput, Paper, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { playgroundRoutes } from '../../routes.ts';
import { send } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { formatMs } from '../usage/totals.ts';
import { BesideCode } from './call-code.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { QuestionForm } from './question-form.tsx';
import { timeCall } from './timed-call.ts';

/** Those that browsers play. */
const FORMATS = ['mp3', 'wav', 'flac', 'aac', 'opus'];
/** In the code, before a text is entered. */
const EXAMPLE = 'A ship leaves at dawn.';

export function SpeechPlayground({ deployment, permission }: PlaygroundProps) {
  const namespace = useNamespace();
  const { name, kind, modelId: model, baseURL } = deployment;
  const [input, setInput] = useState('');
  const [voice, setVoice] = useState('default');
  const [format, setFormat] = useState('mp3');
  const [speed, setSpeed] = useState<number | string>('');
  const body = {
    model,
    voice: voice.trim() || undefined,
    input,
    response_format: format === 'mp3' ? undefined : format,
    speed: typeof speed === 'number' ? speed : undefined,
  };
  const speak = useMutation({
    mutationFn: () =>
      timeCall(async () => ({
        audio: await (await send(playgroundRoutes.speak, { namespace, name }, body)).blob(),
        name: `speech.${format}`,
      })),
  });
  return (
    <BesideCode baseURL={baseURL} call={{ kind, body: { ...body, input: input || EXAMPLE } }}>
      <QuestionForm
        label="Speak"
        question={speak}
        permission={permission}
        onSubmit={() => speak.mutate()}
        answer={speak.data && <Speech {...speak.data.answer} tookMs={speak.data.tookMs} />}
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
        <Group>
          <TextInput
            label="Voice"
            placeholder="Model's default"
            value={voice}
            onChange={(event) => setVoice(event.currentTarget.value)}
            maxLength={200}
            w={180}
          />
          <Select
            label="Format"
            data={FORMATS}
            value={format}
            onChange={(chosen) => chosen && setFormat(chosen)}
            allowDeselect={false}
            w={110}
          />
          <NumberInput
            label="Speed"
            placeholder="1"
            value={speed}
            onChange={setSpeed}
            min={0.25}
            max={4}
            step={0.25}
            w={110}
          />
        </Group>
      </QuestionForm>
    </BesideCode>
  );
}

function Speech({ audio, name, tookMs }: { audio: Blob; name: string; tookMs: number }) {
  const url = useObjectURL(audio);
  return (
    <Paper withBorder p="md" radius="md" w="100%" role="status">
      {url && (
        <>
          {/* biome-ignore lint/a11y/useMediaCaption: what is spoken is in the field above */}
          <audio src={url} controls aria-label="Generated speech" style={{ width: '100%' }} />
          <Group gap="sm" mt="xs">
            <Anchor href={url} download={name} size="sm">
              Download {name}
            </Anchor>
            <Text size="sm" c="dimmed">
              {formatMs(tookMs)}
            </Text>
          </Group>
        </>
      )}
    </Paper>
  );
}

/** As long as it is shown. */
function useObjectURL(blob: Blob): string | null {
  const [url, setURL] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setURL(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
