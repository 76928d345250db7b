/** Webhook endpoints: written as the user, validated by the operator. */

import { randomBytes } from 'node:crypto';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import {
  type WebhookEndpoint,
  webhookEndpoint,
  webhookEndpointResource,
} from '../../../api/webhook-endpoint.ts';
import { deriveDeliveryId, expandEvent } from '../../../redis/deliveries/delivery-calls.ts';
import { readDelivery } from '../../../redis/deliveries/delivery-log.ts';
import { routes } from '../../routes.ts';
import { ConsoleError } from '../http/error.ts';
import { viewAs } from '../kubernetes/object.ts';
import {
  describeDelivery,
  describeWebhook,
  findVerdict,
  isAutoDisabled,
  refuseURL,
} from '../views/webhook.ts';
import { pollUntil } from './poll.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';
import { readTarget } from './webhook-target.ts';

const { plural, kind } = webhookEndpointResource;
const VERIFY_TIMEOUT_MS = 5_000;
const ATTEMPT_TIMEOUT_MS = 8_000;
const TEST_TYPE = 'webhook.test';

export function addWebhookRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, redis } = services;

  const read = async (token: string, namespace: string, name: string): Promise<WebhookEndpoint> =>
    webhookEndpoint.parse(await kubernetes.get(token, { plural, namespace }, name));
  const awaitVerdict = async (token: string, written: WebhookEndpoint): Promise<WebhookEndpoint> => {
    const { namespace, name } = written.metadata;
    const isEvaluated = (seen: WebhookEndpoint) => findVerdict(seen, 'Accepted') !== undefined;
    return (await pollUntil(() => read(token, namespace, name), isEvaluated, VERIFY_TIMEOUT_MS)).seen;
  };

  serve(routes.listWebhooks, async ({ session, namespace }) => {
    const shown = viewAs(webhookEndpoint, describeWebhook);
    const views = await kubernetes.list(session.token, { plural, namespace }, shown);
    return views.sort((a, b) => a.name.localeCompare(b.name));
  });

  serve(routes.createWebhook, async ({ ctx, session, namespace, readBody }) => {
    const { token } = session;
    const { name, ...spec } = await readBody();
    const object = { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec };
    const made = await kubernetes.create(session, { plural, namespace }, object);
    const endpoint = await awaitVerdict(token, webhookEndpoint.parse(made));
    const accepted = findVerdict(endpoint, 'Accepted');
    // An endpoint that never worked is removed; users who cannot delete it see it instead.
    if (
      accepted?.status === 'False' &&
      (await wasRemoved(kubernetes.remove(token, { plural, namespace }, name)))
    )
      throw refuseURL(accepted);
    ctx.status = 201;
    return describeWebhook(endpoint);
  });

  serve(routes.changeWebhook, async ({ session, namespace, name, readBody }) => {
    const { token } = session;
    const { reEnable, ...spec } = await readBody();
    const metadata = { annotations: { [ANNOTATIONS.reEnable]: new Date().toISOString() } };
    const changed = await kubernetes.patch(session, { plural, namespace }, name, {
      spec,
      ...(reEnable && { metadata }),
    });
    let endpoint = await awaitVerdict(token, webhookEndpoint.parse(changed));
    if (reEnable && isAutoDisabled(endpoint)) {
      // An annotation does not change the generation, so the old status stays until the operator reconciles again.
      const poll = () => read(token, namespace, name);
      endpoint = (await pollUntil(poll, (seen) => !isAutoDisabled(seen), VERIFY_TIMEOUT_MS)).seen;
    }
    return describeWebhook(endpoint);
  });

  serve(routes.deleteWebhook, async ({ session, namespace, name }) => {
    await kubernetes.remove(session.token, { plural, namespace }, name);
  });

  serve(routes.testWebhook, async ({ session, namespace, name }) => {
    await access.require(session, namespace, 'sendTests');
    const url = readTarget(await read(session.token, namespace, name));
    const eventId = `evt_${randomBytes(16).toString('hex')}`;
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const testBody = buildTestEvent({ id: eventId, namespace, nowSeconds });
    const event = { namespace, id: eventId, type: TEST_TYPE, requestId: '', testBody };
    if ((await expandEvent(redis, event, [{ url, endpoint: name }])) === null)
      throw new ConsoleError('conflict', 'Too many deliveries are pending. Try again later.');
    const poll = () => readDelivery(redis, namespace, deriveDeliveryId(eventId, url));
    const { seen } = await pollUntil(poll, (delivery) => wasTried(delivery), ATTEMPT_TIMEOUT_MS);
    return {
      eventId,
      delivery: seen && wasTried(seen) ? describeDelivery(seen) : null,
    };
  });
}

type Delivery = Awaited<ReturnType<typeof readDelivery>>;

const wasTried = (delivery: Delivery): boolean =>
  delivery !== null && (delivery.state !== 'pending' || delivery.status !== null || delivery.error !== '');

const wasRemoved = (removal: Promise<void>): Promise<boolean> =>
  removal.then(
    () => true,
    () => false,
  );

/** All fields of a real event (docs/api.md, "Webhook event"), to test the receiver's parsing, and a marker for test events. */
const buildTestEvent = (event: { id: string; namespace: string; nowSeconds: number }): string =>
  JSON.stringify({
    id: event.id,
    type: 'webhook.test',
    created_at: event.nowSeconds,
    data: {
      id: event.id.replace(/^evt_/, 'req_'),
      status: 'succeeded',
      modality: 'image',
      namespace_name: event.namespace,
      registration_id: 0,
      created_at: event.nowSeconds,
      completed_at: event.nowSeconds,
      output_object_key: null,
      output_bucket: null,
      result_payload: {},
      error_code: null,
      error_message: null,
    },
    _service_test: true,
  });
