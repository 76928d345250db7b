/** Fields common to all media routes: the body, unless it repeats an earlier request; prompt, model, steps, `async`, the idempotency key, and where the result is stored and its events are sent. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Extra } from '../../api/media-parameters.ts';
import type { Modality } from '../../api/request.ts';
import { normalizeURL } from '../../redis/deliveries/delivery-calls.ts';
import { readCredential } from '../../redis/publication/published.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { ExtraParameters } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { readJsonBody } from '../http/json-body.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { findRepeat } from '../jobs/idempotency.ts';
import type { IdempotentRepeat } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import { FieldReader } from './field-reader.ts';
import type { FormFields } from './form-fields.ts';
import { type FormFile, removeFiles } from './form-parts.ts';
import { readMediaBody } from './media-body.ts';

export const readModel = (fields: FieldReader, { modelId }: Pick<GatewayConfig, 'modelId'>): string =>
  fields.requireText('model', `"${modelId}", the model of this deployment`);

/** After all fields were read. Throws ApiError with 404 for a model other than the deployment's. */
export function requireServedModel(given: string, { modelId }: Pick<GatewayConfig, 'modelId'>): void {
  if (given === modelId) return;
  throw new ApiError('model_not_found', `This deployment serves the model "${modelId}" only.`, {
    param: 'model',
  });
}

/** Throws ApiError with 413 for a text over the limit in characters, not code units. */
function limitText(text: string, param: string, limit: number): string {
  if (isLonger(text, limit))
    throw new ApiError('request_too_large', `\`${param}\` exceeds the limit of ${limit} characters.`, {
      param,
    });
  // A lone surrogate cannot be encoded as UTF-8.
  return text.toWellFormed();
}

/** A character is one code unit or two, so most texts need no counting. */
const isLonger = (text: string, limit: number): boolean =>
  text.length > limit && (text.length > 2 * limit || [...text].length > limit);

export const readPromptField = (
  fields: FieldReader,
  { promptCharacters }: { promptCharacters: number },
): string => limitText(fields.requireText('prompt'), 'prompt', promptCharacters);

type Steps = { min: number; max: number; default: number } | undefined;

/** Only those that the model applies are read (docs/api.md, "Model"). */
export function readExtraParameters(
  fields: FieldReader,
  extras: readonly Extra[],
  { steps, promptCharacters }: { steps: Steps; promptCharacters: number },
): ExtraParameters {
  const applies = (extra: Extra) => extras.includes(extra);
  const readNumber = (extra: Extra) => (applies(extra) ? fields.number(extra) : undefined);
  const negative = applies('negative_prompt') ? fields.text('negative_prompt') : undefined;
  return dropAbsent({
    negativePrompt: negative ? limitText(negative, 'negative_prompt', promptCharacters) : undefined,
    seed: applies('seed') ? fields.integer('seed') : undefined,
    steps: steps && applies('num_inference_steps') ? readSteps(fields, steps) : undefined,
    guidanceScale: readNumber('guidance_scale'),
    trueCfgScale: readNumber('true_cfg_scale'),
    flowShift: readNumber('flow_shift'),
    extraParams: applies('extra_params') ? fields.object('extra_params') : undefined,
  });
}

const dropAbsent = (parameters: { [Name in keyof ExtraParameters]: ExtraParameters[Name] | undefined }) =>
  Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined),
  ) as ExtraParameters;

/** Clamps (docs/api.md, "Model"). */
function readSteps(fields: FieldReader, { min, max, default: fallback }: NonNullable<Steps>): number {
  const range = { min, max };
  return fields.clamped('steps', range) ?? fields.clamped('num_inference_steps', range) ?? fallback;
}

/** `?async=true`. Throws ApiError for values other than true and false. */
export function readAsync(url: string): boolean {
  const query = url.indexOf('?');
  const text = query < 0 ? null : new URLSearchParams(url.slice(query)).get('async');
  if (text === null || /^(false|0|)$/i.test(text)) return false;
  if (/^(true|1)$/i.test(text)) return true;
  throw refuseParameter('invalid_value', 'async', 'The query parameter `async` must be true or false.');
}

export const MAX_KEY_LENGTH = 255;

/** Null without one. Throws ApiError for one that is too long. */
function readIdempotencyKey(header: string | string[] | undefined): string | null {
  const key = String(header ?? '').trim();
  if (key.length > MAX_KEY_LENGTH)
    throw refuseParameter(
      'string_above_max_length',
      'Idempotency-Key',
      `The Idempotency-Key header must have at most ${MAX_KEY_LENGTH} characters.`,
    );
  return key || null;
}

const byExtent = (one: string, other: string): number => {
  const [width = 0, height = 0] = one.split('x').map(Number);
  const [otherWidth = 0, otherHeight = 0] = other.split('x').map(Number);
  return width - otherWidth || height - otherHeight;
};

/** For messages: by width, then by height. */
export const listSizes = (sizes: readonly string[]): string => sizes.toSorted(byExtent).join(', ');

/** The documented default, or the model's first if it lacks that: an omitted field never fails. */
export const chooseDefault = (sizes: readonly string[], usual: string): string =>
  sizes.includes(usual) ? usual : sizes[0]!;

/** What identifies a repeat of a request. */
interface FieldSource {
  modality: Modality;
  /** Whether a request with these fields can be a repeat; absent: any can. */
  mayRepeat?: (fields: FieldReader) => boolean;
}

/** The fields of a request that does not repeat an earlier one. */
export interface NewFields {
  kind: 'new';
  fields: FieldReader;
  idempotencyKey: string | null;
  fingerprint: string | null;
}

/** Throws ApiError; ClientDisconnectedError if the client disconnects early. */
export async function readJsonFields(
  state: GatewayState,
  services: MediaServices,
  { names, modality, mayRepeat = () => true }: FieldSource & { names: ReadonlySet<string> },
): Promise<NewFields | IdempotentRepeat> {
  const idempotencyKey = readIdempotencyKey(state.exchange.req.headers['idempotency-key']);
  const fields = await readJsonBody(state, {
    limits: services.config(state).limits,
    interpret: (body) => FieldReader.ofJSON(body.value, names, { text: body }),
    isKept: true,
  });
  const known = await findRepeat(services, state, {
    modality,
    idempotencyKey: mayRepeat(fields) ? idempotencyKey : null,
    listTexts: () => fields.list(names),
  });
  return known.kind === 'repeat' ? known : { ...known, fields, idempotencyKey };
}

/**
 * The request that `read` parses from a body with files that is not a repeat; it may hold the files. Throws what `read` throws, and
 * as `readJsonFields`; no file is left then.
 */
export async function readFileRequest<R>(
  state: GatewayState,
  services: MediaServices,
  { form: documented, modality, mayRepeat = () => true }: FieldSource & { form: FormFields },
  read: (known: NewFields, files: FormFile[]) => Promise<R>,
): Promise<R | IdempotentRepeat> {
  const idempotencyKey = readIdempotencyKey(state.exchange.req.headers['idempotency-key']);
  const { limits } = services.config(state);
  const body = await readMediaBody(state, documented, { limits, spool: services.storage.spool });
  const { fields, files } = body;
  try {
    const known = await findRepeat(services, state, {
      modality,
      idempotencyKey: mayRepeat(fields) ? idempotencyKey : null,
      listTexts: () => fields.list(documented.texts),
      files,
    });
    if (known.kind === 'new') return await read({ ...known, fields, idempotencyKey }, files);
    await removeFiles(body);
    return known;
  } catch (error) {
    await removeFiles(body);
    throw error;
  }
}

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
