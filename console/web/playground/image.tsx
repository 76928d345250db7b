/** Generates images synchronously, or in the background if that takes too long. */
import { Anchor, Button, Group, Image, NumberInput, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { ImageAnswer } from '../../api.ts';
import { playgroundRoutes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { CallError, call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { FollowedRequest } from '../requests/followed-request.tsx';
import { formatMs } from '../usage/totals.ts';
import { BesideCode } from './call-code.tsx';
import { buildForm, ImageField, PromptField } from './media-fields.tsx';
import { listParameters, MediaParameterFields, NO_PARAMETERS } from './media-parameters.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { timeCall } from './timed-call.ts';

const MAX_IMAGES = 4;
/** In the code, before a prompt is entered. */
const EXAMPLE = 'A harbor at dawn';
/** All replicas busy, or timeout: both can be avoided in the background. */
const BUSY = [429, 504];

export function ImagePlayground({ deployment, permission, isShown }: PlaygroundProps) {
  const namespace = useNamespace();
  const { sizes = [], imageInput = false, textInput = true } = deployment.media ?? {};
  const [prompt, setPrompt] = useState('');
  const [size, setSize] = useState<string | null>(sizes[0] ?? null);
  const [count, setCount] = useState<number | string>(1);
  const [image, setImage] = useState<File | null>(null);
  const [parameters, setParameters] = useState(NO_PARAMETERS);

  const controller = useRef<AbortController | null>(null);
  // Aborts when the user leaves the page.
  useEffect(() => () => controller.current?.abort(), []);

  const body = {
    model: deployment.modelId,
    prompt,
    size: size ?? undefined,
    n: Number(count) || 1,
    ...listParameters(parameters),
  };
  const make = useAction({
    mutationFn: (inBackground: boolean) => {
      controller.current = new AbortController();
      const { signal } = controller.current;
      const args = { namespace, name: deployment.name, async: inBackground ? 'true' : '' };
      return timeCall(() =>
        image
          ? call(playgroundRoutes.editImage, args, buildForm({ ...body, image }), signal)
          : call(playgroundRoutes.generateImages, args, body, signal),
      );
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (permission.isAllowed) make.mutate(false);
  };
  const isCanceled = make.error?.name === 'AbortError';
  const isBusy = make.error instanceof CallError && BUSY.includes(make.error.status);

  const { answer, tookMs } = make.data ?? {};

  return (
    <BesideCode
      baseURL={deployment.baseURL}
      call={{
        kind: deployment.kind,
        body: { ...body, prompt: prompt || EXAMPLE },
        ...(image && { files: { image: image.name } }),
      }}
    >
      <form onSubmit={submit} style={{ width: '100%' }}>
        <Stack align="flex-start">
          <PromptField value={prompt} onChange={setPrompt} />
          <Group align="flex-end">
            <Select label="Size" data={sizes} value={size} onChange={setSize} allowDeselect={false} w={150} />
            <NumberInput
              label="Images"
              value={count}
              onChange={setCount}
              min={1}
              max={MAX_IMAGES}
              allowDecimal={false}
              w={110}
            />
            {imageInput && (
              <ImageField label="Source image" isRequired={!textInput} value={image} onChange={setImage} />
            )}
          </Group>
          <MediaParameterFields media={deployment.media} value={parameters} onChange={setParameters} />
          <Group>
            <AllowedButton type="submit" loading={make.isPending} {...permission}>
              Generate
            </AllowedButton>
            {make.isPending && (
              <Button color="red" variant="subtle" onClick={() => controller.current?.abort()}>
                Cancel
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      {make.error && !isCanceled && <ErrorAlert error={make.error} />}
      {isCanceled && <Text c="dimmed">Canceled.</Text>}
      {isBusy && (
        <Button variant="default" w="fit-content" onClick={() => make.mutate(true)}>
          Generate in the background
        </Button>
      )}
      {answer?.data && <GeneratedImages pictures={answer.data} prompt={prompt} />}
      {answer?.data && tookMs !== undefined && (
        <Text size="sm" c="dimmed">
          {formatMs(tookMs)}
        </Text>
      )}
      {answer?.id && <FollowedRequest deployment={deployment.name} id={answer.id} isShown={isShown} />}
    </BesideCode>
  );
}

interface GeneratedImagesProps {
  pictures: NonNullable<ImageAnswer['data']>;
  prompt: string;
}

function GeneratedImages({ pictures, prompt }: GeneratedImagesProps) {
  return (
    <SimpleGrid
      cols={{ base: 1, sm: pictures.length > 1 ? 2 : 1 }}
      role="status"
      aria-label="Generated images"
    >
      {pictures.map(({ url, b64_json }, index) => {
        const source = url ?? `data:image/png;base64,${b64_json}`;
        return (
          // The images of a response never change.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <Stack key={index} gap={4} align="flex-start">
            <Image
              src={source}
              alt={`Image ${index + 1}: ${prompt}`}
              radius="sm"
              w="auto"
              maw="100%"
              mah="70vh"
            />
            <Anchor href={source} target="_blank" rel="noreferrer" download size="sm">
              Download image {index + 1}
            </Anchor>
          </Stack>
        );
      })}
    </SimpleGrid>
  );
}
