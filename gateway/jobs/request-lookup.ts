/** Finds a workspace's requests, and distinguishes another workspace's from those that never existed (docs/api.md, "Authentication"). */
import { MODALITIES, type Modality, REQUEST_ID, type RequestRecord } from '../../api/request.ts';
import { openPrompt } from '../../api/sealed-request.ts';
import { isRedisAway } from '../../redis/client.ts';
import { isKnownPrefix } from '../../redis/publication/published.ts';
import { type ChargedRecord, readRequest, readSealedPrompt } from '../../redis/requests/request-record.ts';
import { findForeignDeployment } from '../auth/key-scope.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { findLinkPlace } from './link-place.ts';
import { isExpired } from './request-object.ts';
import type { MediaServices } from './services.ts';

const MAX_SHOWN_CHARACTERS = 100;
const LINK_SECONDS = 3_600;

/** The request that the path names. Throws ApiError. */
export async function findRequest(
  services: MediaServices,
  state: GatewayState,
  modality?: Modality,
): Promise<ChargedRecord> {
  const id = state.parameter;
  const { namespace } = services.config(state);
  if (!REQUEST_ID.test(id)) throw refuse(id, modality);
  const record = await readRequest(services.redis, namespace, id);
  if (record && (modality === undefined || record.modality === modality)) {
    const foreign = findForeignDeployment(state.scope ?? null, record.deployment);
    if (foreign) throw foreign;
    return record;
  }
  if (!record) await refuseForeign(services, namespace, id);
  throw refuse(id, modality);
}

/** 403 if the id's first digits are another workspace's; nothing of that workspace is read. */
export async function refuseForeign(services: MediaServices, namespace: string, id: string): Promise<void> {
  const prefix = id.slice('req_'.length, 'req_'.length + 8);
  if (prefix === services.storage.requestPrefix(namespace)) return;
  if (await isKnownPrefix(services.redis, prefix))
    throw new ApiError('permission_denied', `The request ${id} belongs to another workspace.`);
}

export const refuse = (id: string, modality?: Modality): ApiError =>
  new ApiError(
    'not_found',
    `There is no ${modality === MODALITIES[1] ? 'video' : 'request'} ${id.slice(0, MAX_SHOWN_CHARACTERS)} in this workspace, or it ended too long ago.`,
  );

/** New links to a successful request's files, for an hour; none once the files or access to their bucket are gone. */
export async function signOutputs(
  { config, storage }: Pick<MediaServices, 'config' | 'storage'>,
  state: GatewayState,
  record: RequestRecord,
): Promise<string[]> {
  const { output } = record;
  const current = config(state);
  if (!output || isExpired(record, Date.now())) return [];
  try {
    return await storage.urlSigner.signGets({
      namespace: current.namespace,
      credential: output.credential,
      objects: output.keys.map((key) => ({ key })),
      expiresInSeconds: LINK_SECONDS,
      place: findLinkPlace(current, state.exchange.req.headers),
    });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'storage_credential_not_found') return [];
    throw error;
  }
}

/** null if none is kept, or Redis just became unavailable: the rest of the Video object is still useful. */
export async function readStoredPrompt(
  { redis, storage }: MediaServices,
  namespace: string,
  id: string,
): Promise<string | null> {
  const key = storage.promptKey(namespace);
  if (!key) return null;
  const sealed = await readSealedPrompt(redis, namespace, id).catch((error) => {
    if (!isRedisAway(error)) throw error;
    return '';
  });
  return sealed === '' ? null : openPrompt(sealed, { namespace, id }, key);
}
