/** For kinds without a playground: where the code examples are. */
import { Text } from '@mantine/core';

export function ExamplesPlayground() {
  return <Text>Audio has no playground. The overview has examples for curl, Python and Node.</Text>;
}
