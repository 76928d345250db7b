/** The URL for deliveries to an endpoint. */
import { ZodError } from 'zod';
import {
  type WebhookEndpoint,
  webhookEndpoint,
  webhookEndpointResource,
} from '../../../api/webhook-endpoint.ts';
import { normalizeURL } from '../../../redis/deliveries/delivery-calls.ts';
import { ConsoleError } from '../http/error.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { findVerdict, isAutoDisabled, refuseURL } from '../views/webhook.ts';

const { plural } = webhookEndpointResource;

/** Returns the URL if the operator has accepted it. Throws a ConsoleError with a remedy otherwise. */
export function readTarget(endpoint: WebhookEndpoint): string {
  const accepted = findVerdict(endpoint, 'Accepted');
  const url = normalizeURL(endpoint.spec.url);
  if (accepted?.status === 'True' && url !== null) return url;
  if (accepted) throw refuseURL(accepted);
  throw new ConsoleError('conflict', 'The URL has not been checked yet. Try again in a moment.');
}

interface Place {
  namespace: string;
  endpoint: string;
}

/** The URL of an endpoint that can currently receive deliveries, read as the user. */
export async function readDeliveryURL(
  kubernetes: Kubernetes,
  token: string,
  { namespace, endpoint }: Place,
): Promise<string> {
  const object = await kubernetes.get(token, { plural, namespace }, endpoint).catch((error) => {
    if (error instanceof KubernetesError && error.status === 404)
      throw new ConsoleError('conflict', `The endpoint ${endpoint} no longer exists.`);
    throw error;
  });
  return readOpenTarget(object);
}

/** The URLs of all endpoints of a namespace that can currently receive deliveries, by name. */
export async function readDeliveryURLs(
  kubernetes: Kubernetes,
  token: string,
  namespace: string,
): Promise<Map<string, string>> {
  const targets = await kubernetes.list(token, { plural, namespace }, (object) => {
    try {
      return [object.metadata.name, readOpenTarget(object)] as const;
    } catch (error) {
      if (error instanceof ConsoleError || error instanceof ZodError) return undefined;
      throw error;
    }
  });
  return new Map(targets);
}

function readOpenTarget(object: unknown): string {
  const endpoint = webhookEndpoint.parse(object);
  const { name } = endpoint.metadata;
  if (!endpoint.spec.enabled || isAutoDisabled(endpoint))
    throw new ConsoleError('conflict', `The endpoint ${name} is disabled. Enable it first, then resend.`);
  return readTarget(endpoint);
}
