/** Opens workspaces' sealed signing secrets. */
import { LRUCache } from 'lru-cache';
import { openSigningSecret, splitSigningSecrets, type WorkspaceSecrets } from '../../api/signing-secret.ts';

/** Null if there are none, or none that can be read. */
export type SecretOpener = (namespace: string, sealed: string | null) => WorkspaceSecrets | null;

const MAX_WORKSPACES = 1_000;

/** Keeps what it opened until the sealed text changes: deriving a key costs each delivery as much as a signature. */
export function createSecretOpener(dataKey: (namespace: string) => Buffer): SecretOpener {
  const opened = new LRUCache<string, { sealed: string; secrets: WorkspaceSecrets | null }>({
    max: MAX_WORKSPACES,
  });
  return (namespace, sealed) => {
    if (!sealed) return null;
    const known = opened.get(namespace);
    if (known?.sealed === sealed) return known.secrets;
    const text = openSigningSecret(sealed, namespace, dataKey(namespace));
    const secrets = text === null ? null : splitSigningSecrets(text);
    opened.set(namespace, { sealed, secrets });
    return secrets;
  };
}
