/** Where a deployment's results go, and where links to them lead. */
import { z } from 'zod';
import { objectName } from './kubernetes-types.ts';

export const RESULT_LINKS = ['Own', 'Store'] as const;
export type ResultLinks = (typeof RESULT_LINKS)[number];

export const modelStorage = z
  .object({
    credential: objectName('StorageCredential of this namespace to which results go.').optional(),
    links: z
      .enum(RESULT_LINKS)
      .optional()
      .describe(
        'Own: links to results lead to this endpoint, which passes the files on. Store: to the bucket itself. If absent: Own for managed storage whose endpoint is not public, such as in the cluster, else Store.',
      ),
  })
  .prefault({})
  .describe('Results of images and videos.');
