/** `.berth/endpoints.json`: what `make run` and `make cluster` serve, for tools and tests. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEFAULT_FOLDER, STATE_FOLDER } from './environment.ts';
import type { ListedMedia } from './media-facts.ts';

export const FILE_NAME = 'endpoints.json';
const DEFAULT_PATH = join(DEFAULT_FOLDER, FILE_NAME);
export const LOCAL_ENDPOINTS = join(STATE_FOLDER, FILE_NAME);

export interface EndpointEntry extends ListedMedia {
  name: string;
  namespace: string;
  kind: string;
  modelId: string;
  registrationId: number;
  baseURL: string;
  apiKey: string;
  /** The simulator's control port, one per ready replica; null with a real engine. */
  simulatorURL: string | null;
  simulatorURLs: string[] | null;
  paused?: true;
}

export interface WorkspaceEntry {
  namespace: string;
  apiKey: string;
  deployments: EndpointEntry[];
}

export interface EndpointsFile {
  mode: 'local' | 'cluster';
  deployments: EndpointEntry[];
  otherWorkspace: WorkspaceEntry | null;
  exhaustedWorkspace: WorkspaceEntry | null;
  storageCredentials: { id: number; verified: boolean; bucket: string }[] | null;
  unknownURL: string;
  s3: { endpoint: string; bucket: string; accessKeyId: string; secretAccessKey: string } | null;
  redisURL: string;
  webhooks: { signingSecret: string; receiverHost: string; plainHTTP: boolean } | null;
  console: { url: string; token: string } | null;
  /** Kubernetes' API to the objects of `make run`. */
  objects: { url: string; token: string } | null;
  /** How to enter the cluster: every URL above works from a process started with the `exec` prefix. */
  cluster: { kubeconfig: string; exec: string[] } | null;
}

/** Replaces the file atomically: concurrent readers get the old one or the new one. */
export function writeEndpoints(endpoints: EndpointsFile, path = DEFAULT_PATH): void {
  mkdirSync(dirname(path), { recursive: true });
  const made = `${path}.${process.pid}`;
  writeFileSync(made, `${JSON.stringify(endpoints, null, 2)}\n`, { mode: 0o600 });
  renameSync(made, path);
}

export function removeEndpoints(path = DEFAULT_PATH): void {
  rmSync(path, { force: true });
}

/** The running instance's file, or undefined while nothing runs. */
export function readEndpoints(path = DEFAULT_PATH): EndpointsFile | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as EndpointsFile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
