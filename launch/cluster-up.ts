/** Starts a Kubernetes cluster with Berth in it and an example of each kind; ends with a chat through the ingress. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '../cluster/cluster.ts';
import { llamaCppImage, projectImages, redisImage, s3Image } from '../cluster/images.ts';
import type { Cluster } from '../cluster/layout.ts';
import { startProgress } from '../cluster/progress.ts';
import { applyMember } from './cluster-console.ts';
import { describeCluster } from './cluster-endpoints.ts';
import { describeKeys, keepKeys, type WorkspaceKeys } from './cluster-keys.ts';
import { waitForModels } from './cluster-models.ts';
import { waitForCredentials } from './cluster-storage.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import { applyObjects, runInCluster, runKubectl } from './kubectl.ts';
import { installRelease, WORKSPACES } from './release.ts';

export interface ClusterInstallation {
  cluster: Cluster;
  endpoints: EndpointsFile;
}

const EXAMPLES = 'examples/cluster';
const READY_TIMEOUT_MS = 300_000;
const VERDICT_TIMEOUT_MS = 60_000;

/** Takes seconds if everything already runs. `hasSpare`: with a second node. Throws with the reasons of what is not ready. */
export async function installCluster(name: string, hasSpare = false): Promise<ClusterInstallation> {
  const own = projectImages();
  const images = [redisImage, s3Image, llamaCppImage, ...own];
  const cluster = await startCluster({ name, images, spareImages: hasSpare ? own : undefined });
  const progress = startProgress(4);
  progress.step('installing Berth');
  await applyFile(cluster, 'storage.yaml');
  await installRelease(cluster);
  progress.step('applying the examples');
  const keys = await applyExamples(cluster);
  progress.step('waiting until they are ready');
  const models = await waitForModels(cluster, READY_TIMEOUT_MS, (line) => console.error(line));
  const credentials = await waitForCredentials(cluster, VERDICT_TIMEOUT_MS);
  await waitForKeys(cluster);
  const endpoints = await describeCluster(cluster, { models, keys, credentials });
  progress.step('chatting through the ingress');
  await proveChat(cluster, endpoints);
  progress.done('Berth is serving');
  return { cluster, endpoints };
}

async function applyExamples(cluster: Cluster): Promise<WorkspaceKeys> {
  for (const file of ['workspaces.yaml', 'credentials.yaml', 'models.yaml']) await applyFile(cluster, file);
  const keys = keepKeys(cluster, Object.values(WORKSPACES));
  await applyObjects(cluster, describeKeys(keys));
  await applyMember(cluster);
  return keys;
}

async function applyFile(cluster: Cluster, file: string): Promise<void> {
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await runKubectl(cluster, apply, readFileSync(join(EXAMPLES, file), 'utf8'));
}

/** Their publication may complete after the first pods are ready. */
const waitForKeys = (cluster: Cluster): Promise<string> =>
  runKubectl(cluster, [
    'wait',
    'apikeys',
    '--for=condition=Ready',
    '--all',
    '-A',
    `--timeout=${VERDICT_TIMEOUT_MS}ms`,
  ]);

/** From a separate process, like users' programs. */
async function proveChat(cluster: Cluster, { deployments }: EndpointsFile): Promise<void> {
  const chats = deployments.filter(({ kind, paused }) => kind === 'LLM' && !paused);
  for (const { baseURL, apiKey, modelId } of chats) {
    const command = [process.execPath, 'launch/chat-proof.ts', baseURL, apiKey, modelId];
    const answer = await runInCluster(cluster, command);
    if (answer.trim() === '') throw new Error(`${modelId} returned nothing`);
  }
}
