/** A StorageCredential's keys in Redis, sealed with the workspace's data key. */
import { openText, sealText } from './sealed-text.ts';

/** Only static ones: a session token would expire before a link of 7 days. */
export interface StorageKeys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Where sealed keys belong; elsewhere they do not open. */
export interface StorageKeysPlace {
  /** Their Redis key. */
  redisKey: string;
  credentialId: number;
}

/** `dataKey`: 32 bytes, from workspaceDataKey. */
export const sealStorageKeys = (
  { accessKeyId, secretAccessKey }: StorageKeys,
  { redisKey, credentialId }: StorageKeysPlace,
  dataKey: Buffer,
): string => sealText(JSON.stringify([accessKeyId, secretAccessKey]), [redisKey, credentialId], dataKey);

/** null if it was changed, belongs elsewhere or was sealed with another key. */
export function openStorageKeys(
  sealed: string,
  { redisKey, credentialId }: StorageKeysPlace,
  dataKey: Buffer,
): StorageKeys | null {
  const text = openText(sealed, [redisKey, credentialId], dataKey);
  if (text === null) return null;
  const [accessKeyId, secretAccessKey] = JSON.parse(text) as [string, string];
  return { accessKeyId, secretAccessKey };
}
