/** The images of a response. */
import { Anchor, Image, SimpleGrid, Stack } from '@mantine/core';
import type { ImageAnswer } from '../../api.ts';

interface GeneratedImagesProps {
  pictures: NonNullable<ImageAnswer['data']>;
  prompt: string;
}

export function GeneratedImages({ pictures, prompt }: GeneratedImagesProps) {
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
