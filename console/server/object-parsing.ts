/** Objects as they are stored, with all defaults filled in. */
import type { z } from 'zod';
import type { KubeObject } from './kubernetes.ts';

/** What an older or newer version wrote and this one cannot read is left out, so that one object hides no other. */
export const parseObjects = <S extends z.ZodType>(schema: S, objects: readonly KubeObject[]): z.output<S>[] =>
  objects.flatMap((object) => {
    const parsed = schema.safeParse(object);
    return parsed.success ? [parsed.data] : [];
  });
