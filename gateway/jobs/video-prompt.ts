/** The prompt that a Video object shows. */
import { openPrompt } from '../../api/sealed-prompt.ts';
import { isRedisAway } from '../../redis/client.ts';
import { readSealedPrompt } from '../../redis/requests/request-record.ts';
import type { MediaServices } from './services.ts';

/** null where none is kept, or Redis has just gone: the rest of the Video object is worth more. */
export async function readPrompt(
  { redis, storage }: MediaServices,
  namespace: string,
  id: string,
): Promise<string | null> {
  const key = storage.promptKey(namespace);
  if (!key) return null;
  const sealed = await readSealedPrompt(redis, namespace, id).catch((error) => {
    if (!isRedisAway(error)) throw error;
    return '';
  });
  return sealed === '' ? null : openPrompt(sealed, { namespace, id }, key);
}
