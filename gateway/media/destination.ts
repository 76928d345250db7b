/** Where the result of a request is stored, and its events are sent. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { normalizeURL } from '../../redis/deliveries/delivery-calls.ts';
import { readCredential } from '../../redis/publication/published.ts';
import { EgressError } from '../egress/egress-error.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { MediaServices } from '../jobs/services.ts';
import type { FieldReader } from './field-reader.ts';
import type { NewFields } from './request-fields.ts';

const WEBHOOK_URL = 'a public HTTPS address, such as https://example.com/hook';

/**
 * Completes a new request with where its result and its events go: their types are checked first, then `read` reads the rest, and
 * only then are they looked up. Throws ApiError, what `read` throws, or ClientDisconnectedError.
 */
export async function completeRequest<R extends object>(
  state: GatewayState,
  services: MediaServices,
  { fields, idempotencyKey, fingerprint }: NewFields,
  read: () => R | Promise<R>,
): Promise<R & Destination & Pick<NewFields, 'idempotencyKey' | 'fingerprint'>> {
  const named = parseDestination(fields);
  const request = await read();
  const destination = await checkDestination(named, services.config(state), services);
  state.exchange.check();
  return { ...request, ...destination, idempotencyKey, fingerprint };
}

/** From the request, with types checked. */
interface DestinationFields {
  webhookUrl: string | undefined;
  credentialId: number | undefined;
}

/** Throws ApiError. */
const parseDestination = (fields: FieldReader): DestinationFields => ({
  webhookUrl: fields.text('webhook_url', WEBHOOK_URL, 'invalid_webhook_url'),
  credentialId: fields.integer('storage_credential_id'),
});

interface Destination {
  webhookUrl: string | null;
  credential: string | null;
}

/** Throws ApiError: 422 for a URL that is not public HTTPS, or a credential that is unknown or not verified. */
export async function checkDestination(
  { webhookUrl, credentialId }: DestinationFields,
  config: GatewayConfig,
  { redis, egress }: Pick<MediaServices, 'redis' | 'egress'>,
): Promise<Destination> {
  const checked = webhookUrl === undefined ? null : await checkWebhookUrl(webhookUrl, egress);
  const credential = await findCredential(credentialId, config, redis);
  return { webhookUrl: checked, credential };
}

/** Returns the URL as parsed: line breaks, which parsers drop, would corrupt the event's row. */
async function checkWebhookUrl(url: string, egress: MediaServices['egress']): Promise<string | null> {
  try {
    await egress.check(url);
    return normalizeURL(url);
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    throw new ApiError(
      'invalid_webhook_url',
      `\`webhook_url\` ${error.message}; it must be ${WEBHOOK_URL}.`,
      { param: 'webhook_url' },
    );
  }
}

/** The request's own or the deployment's: a job whose result cannot be delivered would waste GPU time. */
async function findCredential(
  id: number | undefined,
  { namespace, storageCredential: usual }: GatewayConfig,
  redis: MediaServices['redis'],
): Promise<string | null> {
  if (id === undefined && usual === null) return null;
  const which = id === undefined ? { name: usual! } : { id };
  const credential = await readCredential(redis, namespace, which);
  const param = 'storage_credential_id';
  if (!credential)
    throw new ApiError(
      'storage_credential_not_found',
      id === undefined
        ? `This deployment's StorageCredential "${usual}" does not exist: specify another with \`${param}\`.`
        : `\`${param}\` ${id} does not identify a StorageCredential of this workspace: send the ID from the status of one, or omit it.`,
      { param },
    );
  if (!credential.verified)
    throw new ApiError(
      'storage_credential_not_verified',
      `The StorageCredential "${credential.name}" (\`${param}\` ${credential.id}) is not verified: see its Verified condition.`,
      { param },
    );
  return credential.name;
}
