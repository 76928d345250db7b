/** A role binding as the page shows it: one entry for each of its subjects. */
import { z } from 'zod';
import type { MemberView } from '../../api.ts';
import type { KubeObject } from '../kubernetes/object.ts';

const binding = z.object({
  metadata: z.object({ name: z.string() }),
  roleRef: z.object({ name: z.string() }),
  subjects: z
    .array(
      z.object({
        kind: z.enum(['User', 'Group', 'ServiceAccount']),
        name: z.string(),
        namespace: z.string().optional(),
      }),
    )
    .catch([]),
});

export function describeMembers(object: KubeObject): MemberView[] | undefined {
  const parsed = binding.safeParse(object);
  if (!parsed.success) return undefined;
  const { metadata, roleRef, subjects } = parsed.data;
  return subjects.map(({ kind, name, namespace }) => ({
    kind,
    name: namespace === undefined ? name : `${namespace}/${name}`,
    role: roleRef.name,
    binding: metadata.name,
  }));
}
