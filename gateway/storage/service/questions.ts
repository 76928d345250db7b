/** What the internal service is asked, checked field by field: a sidecar is a tenant's. */
import { z } from 'zod';
import { LONGEST_LINK_SECONDS } from '../object-store.ts';

const MOST_OBJECTS = 100;
const LONGEST_KEY = 1_024;
/** S3's own bound for one upload. */
const MOST_OBJECT_BYTES = 5 * 1024 ** 3;

const key = z.string().min(1).max(LONGEST_KEY);
const store = { namespace: z.string().min(1).max(63), credential: z.string().min(1).max(253).nullable() };

export const putQuestion = z.object({
  ...store,
  objects: z
    .array(
      z.object({
        key,
        contentType: z.string().regex(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/),
        contentLength: z.int().min(0).max(MOST_OBJECT_BYTES),
      }),
    )
    .min(1)
    .max(MOST_OBJECTS),
});

export const getQuestion = z.object({
  ...store,
  objects: z
    .array(z.object({ key, fileName: z.string().max(255).optional() }))
    .min(1)
    .max(MOST_OBJECTS),
  expiresInSeconds: z.int().min(1).max(LONGEST_LINK_SECONDS),
  isInternal: z.boolean().optional(),
});

/** Longer ones are refused in the words that any bad URL gets. */
export const checkURLQuestion = z.object({ url: z.string() });

export const verifyQuestion = z.object({ namespace: z.string().min(1).max(63), id: z.int().min(1) });
