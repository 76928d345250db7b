/** Requests to the internal service, validated field by field: sidecars run in tenants' namespaces. */
import { z } from 'zod';
import { HUB_REPOSITORY, HUB_REVISION } from '../../../api/internal-api.ts';
import { RESULT_LINKS } from '../../../api/model-storage.ts';
import { MAX_LINK_SECONDS } from '../object-store.ts';

const MAX_OBJECTS = 100;
const MAX_KEY_LENGTH = 1_024;
/** S3's limit for one upload. */
const MAX_OBJECT_BYTES = 5 * 1024 ** 3;

const key = z.string().min(1).max(MAX_KEY_LENGTH);
const store = { namespace: z.string().min(1).max(63), credential: z.string().min(1).max(253).nullable() };

export const putUrlsRequest = z.object({
  ...store,
  objects: z
    .array(
      z.object({
        key,
        contentType: z.string().regex(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/),
        contentLength: z.int().min(0).max(MAX_OBJECT_BYTES),
      }),
    )
    .min(1)
    .max(MAX_OBJECTS),
});

export const getUrlsRequest = z.object({
  ...store,
  objects: z
    .array(z.object({ key, fileName: z.string().max(255).optional() }))
    .min(1)
    .max(MAX_OBJECTS),
  expiresInSeconds: z.int().min(1).max(MAX_LINK_SECONDS),
  isInternal: z.boolean().optional(),
  place: z
    .object({
      deployment: z.string().min(1).max(63),
      origin: z
        .string()
        .max(300)
        .regex(/^https?:\/\/[^\s/?#]+$/),
      links: z.enum(RESULT_LINKS).optional(),
    })
    .optional(),
});

export const lookUpModelRequest = z.object({
  hub: z.url().max(1_024),
  repo: z.string().max(200).regex(HUB_REPOSITORY),
  revision: z.string().min(1).max(200).regex(HUB_REVISION),
});

/** Longer ones are refused like any bad URL. */
export const checkUrlRequest = z.object({ url: z.string() });

export const verifyRequest = z.object({ namespace: z.string().min(1).max(63), id: z.int().min(1) });
