/** What the signed-in user may do in the namespace. */
import { SimpleGrid, Text } from '@mantine/core';
import { useAccess } from '../client/session.ts';
import { RIGHTS } from './roles.ts';

export function Permissions() {
  const access = useAccess();
  if (access.isMissing === undefined) return <Text c="dimmed">Checking your permissions…</Text>;
  const names = Object.keys(RIGHTS) as (keyof typeof RIGHTS)[];
  return (
    <SimpleGrid
      component="ul"
      cols={{ base: 1, sm: 2, lg: 3 }}
      spacing="xs"
      verticalSpacing={4}
      className="plain-list"
    >
      {names.map((name) => (
        <li key={name} className="state" data-tone={access[name] ? 'good' : 'idle'}>
          {RIGHTS[name]}: {access[name] ? 'yes' : 'no'}
        </li>
      ))}
    </SimpleGrid>
  );
}
