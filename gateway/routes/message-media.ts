/**
 * URLs within messages. An engine that fetched them would reach whatever the cluster's network reaches, so only data
 * that the request itself carries goes on.
 */
import { ApiError } from '../error-response.ts';

/** Checks all parts; answers the characters of inline media, which are no prompt text. Throws ApiError. */
export function checkMessageMedia(messages: unknown): number {
  if (!Array.isArray(messages)) return 0;
  let characters = 0;
  for (let index = 0; index < messages.length; index++) {
    const content: unknown = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let part = 0; part < content.length; part++)
      characters += checkPart(content[part], `messages[${index}].content[${part}]`);
  }
  return characters;
}

function checkPart(part: unknown, place: string): number {
  if (typeof part !== 'object' || part === null) return 0;
  let characters = 0;
  for (const [name, value] of Object.entries(part)) {
    if (!name.endsWith('_url')) continue;
    const url: unknown = typeof value === 'object' && value !== null ? value.url : value;
    if (typeof url !== 'string') continue;
    if (!/^data:/i.test(url))
      throw new ApiError(
        'invalid_request_error',
        `\`${place}.${name}\` must be a data: URL, such as "data:image/png;base64,…": this endpoint fetches nothing.`,
        { param: `${place}.${name}` },
      );
    characters += url.length;
  }
  return characters;
}
