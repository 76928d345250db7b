/** Reads the same YAML that `kubectl apply` takes, with the defaults that the API server would fill in. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { z } from 'zod';
import { type APIKey, apiKey } from '../contract/api-key.ts';
import { FIELD_WORDS } from '../contract/field-words.ts';
import { API_VERSION } from '../contract/kubernetes-types.ts';
import { type ModelDeployment, modelDeployment } from '../contract/model-deployment.ts';
import { type StorageCredential, storageCredential } from '../contract/storage-credential.ts';
import { type WebhookEndpoint, webhookEndpoint } from '../contract/webhook-endpoint.ts';
import { type Workspace, workspace } from '../contract/workspace.ts';

export interface Manifests {
  deployments: ModelDeployment[];
  workspaces: Workspace[];
  apiKeys: APIKey[];
  storageCredentials: StorageCredential[];
  webhookEndpoints: WebhookEndpoint[];
  secrets: Secret[];
}

/** As far as this reads one: its texts, decoded. */
export interface Secret {
  namespace: string;
  name: string;
  texts: Record<string, string>;
}

interface Document {
  apiVersion?: unknown;
  kind?: unknown;
  metadata?: { name?: string; namespace?: string; creationTimestamp?: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** Reads files and folders of YAML. Other kinds, such as Namespace, are passed over. Throws with file and field. */
export function readManifests(paths: string[], now = new Date()): Manifests {
  const manifests: Manifests = {
    deployments: [],
    workspaces: [],
    apiKeys: [],
    storageCredentials: [],
    webhookEndpoints: [],
    secrets: [],
  };
  for (const file of paths.flatMap(listYamlFiles)) {
    for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
      const value = document.toJS() as Document | null;
      if (value?.apiVersion === API_VERSION) addObject(manifests, value, file, now);
      else if (value?.apiVersion === 'v1' && value.kind === 'Secret')
        manifests.secrets.push(readSecret(value));
    }
  }
  return manifests;
}

function addObject(manifests: Manifests, value: Document, file: string, now: Date): void {
  const object = {
    ...value,
    metadata: { namespace: 'default', creationTimestamp: now.toISOString(), ...value.metadata },
  };
  if (value.kind === 'ModelDeployment')
    manifests.deployments.push(parseObject(modelDeployment, object, file));
  else if (value.kind === 'Workspace') manifests.workspaces.push(parseObject(workspace, object, file));
  else if (value.kind === 'APIKey') manifests.apiKeys.push(parseObject(apiKey, object, file));
  else if (value.kind === 'StorageCredential')
    manifests.storageCredentials.push(parseObject(storageCredential, object, file));
  else if (value.kind === 'WebhookEndpoint')
    manifests.webhookEndpoints.push(parseObject(webhookEndpoint, object, file));
}

function readSecret({ metadata, data = {}, stringData = {} }: Document): Secret {
  const decoded = Object.entries(data).map(([field, text]) => [
    field,
    Buffer.from(text, 'base64').toString(),
  ]);
  return {
    namespace: metadata?.namespace ?? 'default',
    name: metadata?.name ?? '',
    texts: { ...Object.fromEntries(decoded), ...stringData },
  };
}

function parseObject<T extends z.ZodType>(schema: T, object: Document, file: string): z.infer<T> {
  const result = schema.safeParse(object, FIELD_WORDS);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Error(
    `${file}: ${object.kind}/${object.metadata?.name ?? '?'}: ${issue.path.join('.')} ${issue.message}`,
  );
}

const listYamlFiles = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => /\.ya?ml$/.test(name))
        .sort()
        .map((name) => join(path, name))
    : [path];
