/** What a server says of itself. */
import type { RedisClient } from './client.ts';

/** Fields of INFO by name; of one section, or of those that the server shows by itself. */
export async function readInfo(redis: RedisClient, section?: string): Promise<Record<string, string>> {
  const text = await (section === undefined ? redis.info() : redis.info(section));
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}
