/** Generates a video in the background and shows it when it is done. */
import { Group, NumberInput, Select, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { playgroundRoutes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { FollowedRequest } from '../requests/followed-request.tsx';
import { BesideCode } from './call-code.tsx';
import { buildForm, ImageField, PromptField } from './media-fields.tsx';
import { listParameters, MediaParameterFields, NO_PARAMETERS } from './media-parameters.tsx';
import type { PlaygroundProps } from './playground-props.ts';

/** In the code, before a prompt is entered. */
const EXAMPLE = 'A ship leaves';
const DEFAULT_SECONDS = 4;
const DEFAULT_FPS = 24;

export function VideoPlayground({ deployment, permission, isShown }: PlaygroundProps) {
  const { sizes = [], imageInput = false, textInput = true, native = null } = deployment.media ?? {};
  const [prompt, setPrompt] = useState('');
  const [size, setSize] = useState<string | null>(sizes[0] ?? null);
  const [seconds, setSeconds] = useState<number | string>(native?.seconds ?? DEFAULT_SECONDS);
  const [fps, setFPS] = useState<number | string>(native?.fps ?? DEFAULT_FPS);
  const [image, setImage] = useState<File | null>(null);
  const [parameters, setParameters] = useState(NO_PARAMETERS);

  const body = {
    model: deployment.modelId,
    prompt,
    // As OpenAI's SDKs have it.
    seconds: seconds === '' ? undefined : String(seconds),
    size: size ?? undefined,
    fps: native || fps === '' ? undefined : Number(fps),
    ...listParameters(parameters),
  };
  const make = useWrite(playgroundRoutes.createVideo, { name: deployment.name }, { refreshes: [] });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (permission.isAllowed) make.mutate(buildForm({ ...body, input_reference: image }));
  };

  return (
    <BesideCode
      baseURL={deployment.baseURL}
      call={{
        kind: deployment.kind,
        body: { ...body, prompt: prompt || EXAMPLE },
        ...(image && { files: { input_reference: image.name } }),
      }}
    >
      <form onSubmit={submit} style={{ width: '100%' }}>
        <Stack align="flex-start">
          <PromptField value={prompt} onChange={setPrompt} />
          <Group align="flex-end">
            <Select label="Size" data={sizes} value={size} onChange={setSize} allowDeselect={false} w={150} />
            {!native && (
              <>
                <NumberInput
                  label="Seconds"
                  value={seconds}
                  onChange={setSeconds}
                  min={0.5}
                  max={60}
                  w={110}
                />
                <NumberInput
                  label="Frames per second"
                  value={fps}
                  onChange={setFPS}
                  min={1}
                  max={60}
                  allowDecimal={false}
                  w={140}
                />
              </>
            )}
            {imageInput && (
              <ImageField label="First frame" isRequired={!textInput} value={image} onChange={setImage} />
            )}
          </Group>
          {native && (
            <Text size="sm" c="dimmed">
              This model generates videos of {native.seconds} s at {native.fps} frames per second.
            </Text>
          )}
          <MediaParameterFields media={deployment.media} value={parameters} onChange={setParameters} />
          <AllowedButton type="submit" loading={make.isPending} {...permission}>
            Generate
          </AllowedButton>
        </Stack>
      </form>
      {make.error && <ErrorAlert error={make.error} />}
      {make.data && (
        <FollowedRequest
          key={make.data.id}
          deployment={deployment.name}
          id={make.data.id}
          isShown={isShown}
        />
      )}
    </BesideCode>
  );
}
