/** Deliveries of `make run`: a relay on this machine, temporarily registered as a WebhookEndpoint. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { webhookEndpointResource } from '../../api/webhook-endpoint.ts';
import type { Variables } from '../../kit/environment.ts';
import { FILE_NAME, readEndpoints } from '../endpoints-file.ts';
import { DEFAULT_FOLDER } from '../environment.ts';
import { DEFAULT_NAMESPACE } from '../local-plan.ts';
import { createObjectsCall, waitForCondition } from '../objects-client.ts';
import type { Listening } from './listening.ts';
import { startWebhookRelay } from './webhook-relay.ts';

const { kind, plural } = webhookEndpointResource;

export interface RunOptions {
  /** The state folder of `make run`. */
  folder: string;
  namespace: string | null;
  target: string | null;
  print: (line: string) => void;
  signal: AbortSignal;
}

/** The given folder, that of a running `make run` here or above, or of its kubeconfig. */
export function findStateFolder(named: string | null, cwd: string, variables: Variables): string {
  const chosen = named ?? variables.BERTH_STATE;
  if (chosen) return resolve(cwd, chosen);
  const isRunning = (folder: string) => existsSync(join(folder, FILE_NAME));
  for (let parent = cwd; ; parent = dirname(parent)) {
    const folder = join(parent, DEFAULT_FOLDER);
    if (isRunning(folder)) return folder;
    if (parent === dirname(parent)) break;
  }
  const beside = variables.KUBECONFIG && dirname(resolve(cwd, variables.KUBECONFIG));
  return beside && isRunning(beside) ? beside : join(cwd, DEFAULT_FOLDER);
}

/** Throws with the reason if nothing runs, or nothing will be delivered; returns at once if the signal aborts. */
export async function listenToRun(options: RunOptions): Promise<Listening> {
  const { folder, namespace, target, print, signal } = options;
  const endpoints = readEndpoints(join(folder, FILE_NAME));
  if (endpoints?.mode === 'cluster')
    throw new Error(`${folder} belongs to make cluster; pass its console URL with --console`);
  if (!endpoints?.objects || !endpoints.webhooks)
    throw new Error(
      `nothing is running in ${folder} that could send webhooks: start make run first, name its folder with --folder, or a console with --console`,
    );
  const workspace = namespace ?? DEFAULT_NAMESPACE;
  const { receiverHost: host, signingSecret } = endpoints.webhooks;
  // The file has the secret of one namespace.
  const secret = workspace === DEFAULT_NAMESPACE ? signingSecret : null;
  const relay = await startWebhookRelay({ target, secret, host, print });
  const name = `listen-${randomBytes(3).toString('hex')}`;
  const call = createObjectsCall(endpoints.objects);
  const path = `${workspace}/${plural}`;
  const close = async () => {
    // Nothing is left to remove if make run has ended before.
    await call('DELETE', `${path}/${name}`).catch(() => {});
    await relay.close();
  };
  try {
    const spec = { url: relay.url };
    await call('POST', path, { apiVersion: API_VERSION, kind, metadata: { name }, spec });
    await waitForCondition(call, `${path}/${name}`, { type: 'Active', signal });
  } catch (error) {
    await close();
    throw error;
  }
  return { namespace: workspace, replay: relay.replay, close };
}
