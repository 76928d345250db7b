/** The result of a request: images or a video. */
import { Anchor, Image, Stack, Text } from '@mantine/core';
import type { FollowedRequestView } from './followed-query.ts';

export function Result({ request }: { request: FollowedRequestView }) {
  const { modality, status, outputURLs, errorCode, errorMessage } = request;
  if (status === 'failed')
    return (
      <div role="alert">
        <Text fw={600}>Failed: {errorCode}</Text>
        <Text size="sm">{errorMessage}</Text>
      </div>
    );
  if (status === 'canceled') return <Text c="dimmed">Canceled before it started.</Text>;
  if (status !== 'succeeded') return <Text c="dimmed">The result will appear here.</Text>;
  if (outputURLs.length === 0) return <Text c="dimmed">Result expired.</Text>;
  return (
    <Stack align="flex-start">
      {outputURLs.map((url, index) => {
        const label = `${modality === 'video' ? 'Video' : 'Image'} ${outputURLs.length > 1 ? index + 1 : ''}`;
        return (
          <Stack key={new URL(url, location.href).pathname} gap={4} align="flex-start">
            {modality === 'video' ? (
              // biome-ignore lint/a11y/useMediaCaption: generated videos have no captions
              <video
                src={url}
                controls
                playsInline
                aria-label={label}
                style={{ maxWidth: '100%', maxHeight: '70vh' }}
              />
            ) : (
              <Image src={url} alt={label} radius="sm" w="auto" maw="100%" mah="70vh" />
            )}
            <Anchor href={url} target="_blank" rel="noreferrer" download size="sm">
              Download {label.toLowerCase()}
            </Anchor>
          </Stack>
        );
      })}
    </Stack>
  );
}
