/**
 * The inputs of an ended request, if its workspace keeps them (`Workspace.spec.keepInputs`), and their resubmission. For
 * signed-in users of the console only, who are authorized by the console: API keys never read others' inputs (decision 0327).
 */
import { PERSONAL_KEY_PREFIX } from '../../api/redis-keys.ts';
import { openParams } from '../../api/sealed-request.ts';
import { type ChargedRecord, readSealedParams } from '../../redis/requests/request-record.ts';
import { type Job, parseJob } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import type { MediaRequest } from './media-request.ts';
import { findRequest, refuse } from './request-lookup.ts';
import type { MediaServices } from './services.ts';
import { enqueueRequest } from './submission.ts';

const ACCEPTED = 202;
const RETRIED = ['failed', 'canceled'];

export const buildInputHandlers = (services: MediaServices) => ({
  request_input: async (state: GatewayState) => {
    requirePerson(state);
    const record = await findRequest(services, state);
    const job = await readInput(services, record, services.config(state).namespace);
    sendJSON(state.exchange, {
      parameters: job?.parameters ?? null,
      files: job?.inputs.map(({ contentType, fileName, bytes }) => ({ contentType, fileName, bytes })) ?? [],
    });
  },
  request_retry: async (state: GatewayState) => {
    requirePerson(state);
    const record = await findRequest(services, state);
    const { namespace, name } = services.config(state);
    if (record.deployment !== name) throw refuse(record.id);
    if (!RETRIED.includes(record.status))
      throw refuseRetry(
        `The request ${record.id} is ${record.status}; only failed and canceled ones can be retried.`,
      );
    const job = await readInput(services, record, namespace);
    if (!job) throw refuseRetry('The input of this request is not kept.');
    if (job.inputs.length > 0) throw refuseRetry('The input files of this request are not kept.');
    const accepted = await enqueueRequest(services, state, { ...repeat(record, job), retryOf: record.id });
    sendJSON(state.exchange, { id: accepted.id, status: accepted.status }, { status: ACCEPTED });
  },
});

const refuseRetry = (message: string): ApiError =>
  new ApiError('invalid_request_error', message, { status: 409 });

function requirePerson(state: GatewayState): void {
  if (!state.keyName?.startsWith(PERSONAL_KEY_PREFIX)) throw refuse(state.parameter);
}

/** null if none is kept, or it was too long for Redis: its object was deleted when the request ended. */
async function readInput(
  { redis, storage }: MediaServices,
  { id }: ChargedRecord,
  namespace: string,
): Promise<Job | null> {
  const key = storage.promptKey(namespace);
  const sealed = key ? await readSealedParams(redis, namespace, id) : '';
  const opened = sealed === '' ? null : openParams(sealed, { namespace, id }, key!);
  const job = opened === null ? null : parseJob(opened);
  return job?.kind === 'stored' ? null : job;
}

function repeat({ seconds }: ChargedRecord, job: Job): MediaRequest {
  const base = { webhookUrl: null, credential: job.credential, idempotencyKey: null, fingerprint: null };
  if (job.kind === 'video') {
    const { kind, parameters, askedSeconds = Number(seconds) } = job;
    return { ...base, kind, parameters, seconds, askedSeconds, references: [] };
  }
  const { kind, parameters } = job;
  const asked = { mask: null, responseFormat: 'url', isAsync: true, isStream: false } as const;
  return { ...base, ...asked, kind, parameters, images: [] };
}
