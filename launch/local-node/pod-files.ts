/** The volumes of a pod as folders of this machine, and its containers' environment. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { MemoryApi } from '../../kube/memory/memory-api.ts';
import type { Container, EnvVar, Pod, Volume } from './pod-spec.ts';

/** A missing prerequisite of a container; the kubelet retries. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface FileOptions {
  api: MemoryApi;
  /** Folder of all pods. */
  folder: string;
}

const podFolder = (folder: string, { metadata }: Pod): string =>
  resolve(folder, 'pods', `${metadata.namespace}_${metadata.name}`);

/** Folders by volume. Throws ConfigError if a Secret or a ConfigMap is missing, or for an unsupported kind. */
export function writeVolumes({ api, folder }: FileOptions, pod: Pod): Map<string, string> {
  const found = new Map<string, string>();
  for (const volume of pod.spec.volumes ?? []) {
    const path = placeVolume(volume, folder, pod);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    for (const source of listSources(volume)) writeSource(api, pod.metadata.namespace!, source, path);
    found.set(volume.name, path);
  }
  return found;
}

export function removeVolumes(folder: string, pod: Pod): void {
  rmSync(podFolder(folder, pod), { recursive: true, force: true });
}

function placeVolume(volume: Volume, folder: string, pod: Pod): string {
  const { hostPath, persistentVolumeClaim, secret, configMap, projected, emptyDir, name, ...other } = volume;
  if (hostPath) return hostPath.path;
  if (persistentVolumeClaim)
    return resolve(folder, 'claims', pod.metadata.namespace!, persistentVolumeClaim.claimName);
  if (secret || configMap || projected || emptyDir) return join(podFolder(folder, pod), name);
  throw new ConfigError(
    `volume ${name}: this node does not support ${Object.keys(other)[0] ?? 'such volume'}`,
  );
}

interface Source {
  plural: 'secrets' | 'configmaps';
  name: string;
  items?: { key: string; path: string }[] | undefined;
  optional?: boolean | undefined;
}

function listSources({ secret, configMap, projected }: Volume): Source[] {
  const all = [
    secret && { ...secret, name: secret.secretName, plural: 'secrets' as const },
    configMap && { ...configMap, plural: 'configmaps' as const },
    ...(projected?.sources ?? []).flatMap((source) => [
      source.secret && { ...source.secret, plural: 'secrets' as const },
      source.configMap && { ...source.configMap, plural: 'configmaps' as const },
    ]),
  ];
  return all.filter((source) => source !== undefined);
}

function writeSource(
  api: MemoryApi,
  namespace: string,
  { plural, name, items, optional }: Source,
  path: string,
): void {
  const texts = readTexts(api, plural, { namespace, name });
  if (!texts && !optional) throw new ConfigError(`${plural.slice(0, -1)} "${name}" not found`);
  const files = items?.map(({ key, path }) => [path, texts?.[key]] as const) ?? Object.entries(texts ?? {});
  for (const [file, text] of files) {
    if (text === undefined) continue;
    const target = join(path, file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode: 0o600 });
  }
}

function readTexts(
  api: MemoryApi,
  plural: 'secrets' | 'configmaps',
  at: { namespace: string; name: string },
): Record<string, Buffer> | undefined {
  const data = api.find(plural, at)?.data as Record<string, string> | undefined;
  const encoding = plural === 'secrets' ? 'base64' : 'utf8';
  return (
    data && Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, encoding)]))
  );
}

/** Throws ConfigError if a reference is missing. */
export function readContainerEnv(
  api: MemoryApi,
  pod: Pod,
  container: Container,
  ip: string,
): Record<string, string> {
  const namespace = pod.metadata.namespace!;
  const env: Record<string, string> = {};
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    const [plural, reference] = secretRef
      ? (['secrets', secretRef] as const)
      : (['configmaps', configMapRef!] as const);
    const texts = readTexts(api, plural, { namespace, name: reference.name });
    if (!texts && !reference.optional)
      throw new ConfigError(`${plural.slice(0, -1)} "${reference.name}" not found`);
    for (const [key, text] of Object.entries(texts ?? {})) env[prefix + key] = text.toString();
  }
  for (const variable of container.env ?? []) {
    const value = readVariable(api, pod, variable, ip);
    if (value !== undefined) env[variable.name] = expand(value, env);
  }
  return env;
}

function readVariable(
  api: MemoryApi,
  pod: Pod,
  { name, value, valueFrom }: EnvVar,
  ip: string,
): string | undefined {
  if (!valueFrom) return value ?? '';
  const { fieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef) return readFieldRef(pod, fieldRef.fieldPath, ip);
  const [plural, reference] = secretKeyRef
    ? (['secrets', secretKeyRef] as const)
    : (['configmaps', configMapKeyRef] as const);
  if (!reference) throw new ConfigError(`env ${name}: this node does not support its valueFrom`);
  const text = readTexts(api, plural, { namespace: pod.metadata.namespace!, name: reference.name })?.[
    reference.key
  ];
  if (text === undefined && !reference.optional)
    throw new ConfigError(`couldn't find key ${reference.key} in ${plural.slice(0, -1)} "${reference.name}"`);
  return text?.toString();
}

function readFieldRef({ metadata }: Pod, path: string, ip: string): string {
  const known: Record<string, string | undefined> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': 'local',
    'status.podIP': ip,
    'status.hostIP': '127.0.0.1',
  };
  return known[path] ?? '';
}

/** `$(NAME)`, as Kubernetes expands it. */
export const expand = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name?: string) =>
    whole === '$$' ? '$' : (env[name!] ?? whole),
  );
