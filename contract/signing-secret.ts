/** A workspace's signing secret as it lies in Redis: sealed with the workspace's data key. */
import { configKeys } from './redis-keys.ts';
import { openText, sealText } from './sealed-text.ts';

const placeOf = (namespace: string) => [configKeys(namespace).workspace, 'signing-secret'];

/** `dataKey`: as workspaceDataKey gives. */
export const sealSigningSecret = (secret: string, namespace: string, dataKey: Buffer): string =>
  sealText(secret, placeOf(namespace), dataKey);

/** null for what was changed or belongs to another workspace. */
export const openSigningSecret = (sealed: string, namespace: string, dataKey: Buffer): string | null =>
  openText(sealed, placeOf(namespace), dataKey);
