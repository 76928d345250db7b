/** The API keys of `make cluster`: one per workspace, kept beside the cluster's state; the cluster sees only hashes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateApiKey, hashApiKey, hintApiKey } from '../api/identity.ts';
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { Cluster } from '../cluster/layout.ts';

export type WorkspaceKeys = Record<string, string>;

const KEY_NAME = 'make-cluster';
const RPM = 100_000;
const TPD = 1_000_000_000_000;

/** Keys by namespace: those made before, and new ones for namespaces that have none. */
export function keepKeys(cluster: Cluster, namespaces: string[]): WorkspaceKeys {
  const path = join(cluster.stateFolder, 'api-keys.json');
  const keys: WorkspaceKeys = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  for (const namespace of namespaces) keys[namespace] ??= generateApiKey();
  writeFileSync(path, JSON.stringify(keys, null, 2), { mode: 0o600 });
  return keys;
}

/** APIKey objects with limits that tests do not reach by accident. */
export const describeKeys = (keys: WorkspaceKeys): object[] =>
  Object.entries(keys).map(([namespace, key]) => ({
    apiVersion: API_VERSION,
    kind: 'APIKey',
    metadata: { name: KEY_NAME, namespace },
    spec: { sha256: hashApiKey(key), hint: hintApiKey(key), rpm: RPM, tpd: TPD },
  }));
