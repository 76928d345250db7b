/** Deliveries of `make run`: a relay on this machine, temporarily registered as a WebhookEndpoint. */
import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { DEFAULT_NAMESPACE } from '../../launch/local-plan.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { Failure } from '../framework/failure.ts';
import { openTarget, type Place } from '../framework/target.ts';
import { waitForCondition } from '../framework/wait.ts';
import type { Print } from './inbox.ts';
import type { Listening } from './listening.ts';
import { startWebhookRelay } from './webhook-relay.ts';

export interface RunOptions {
  place: Place;
  namespace: string | undefined;
  target: string | null;
  print: Print;
  signal: AbortSignal;
}

const RESOURCE = BERTH_RESOURCES.WebhookEndpoint;

/** Throws with the reason if nothing runs, or nothing will be delivered; returns at once if the signal aborts. */
export async function listenToRun(options: RunOptions): Promise<Listening> {
  const { place, namespace = DEFAULT_NAMESPACE, target, print, signal } = options;
  if (place.kind !== 'run' || !place.endpoints.webhooks)
    throw new Failure(
      'unreachable',
      'no make run is running here or in a folder above that could send webhooks: start make run first, name its folder with --folder, or the console of an installation with --console',
    );
  const { receiverHost: host, signingSecret } = place.endpoints.webhooks;
  // The file has the secret of one namespace.
  const secret = namespace === DEFAULT_NAMESPACE ? signingSecret : null;
  // It throws if the kubeconfig is broken, and a relay that listens would keep the process alive.
  const run = openTarget(place, namespace);
  const relay = await startWebhookRelay({ target, secret, host, print });
  const name = `listen-${randomBytes(3).toString('hex')}`;
  const close = async () => {
    // Nothing is left to remove if make run has ended before.
    await run.client.delete(RESOURCE, { namespace, name }).catch(() => {});
    await run.client.close();
    await relay.close();
  };
  try {
    const { apiVersion, kind } = RESOURCE;
    const object = { apiVersion, kind, metadata: { name, namespace }, spec: { url: relay.url } };
    await run.client.create<KubeObject>(RESOURCE, object);
    const problem = await waitForCondition(run, 'WebhookEndpoint', { name, type: 'Active', signal });
    if (problem !== undefined) throw new Failure('not_ready', `webhooks are not sent here: ${problem}`);
  } catch (error) {
    await close();
    throw error;
  }
  return { namespace, replay: relay.replay, close };
}
