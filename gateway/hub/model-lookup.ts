/** Reads a model's config.json and the size of its weights from a model hub. */

import type { LookUpModelAnswer, LookUpModelQuestion } from '../../api/internal-api.ts';
import { findJsonFault } from '../../kit/json-cost.ts';
import type { EgressAgent, EgressAnswer } from '../egress/agent.ts';
import { Allowance } from '../egress/allowance.ts';
import { EgressError } from '../egress/egress-error.ts';
import { requestFollowing } from '../egress/redirects.ts';
import { readModelShape } from './model-shape.ts';

const MAX_BYTES = 1024 * 1024;
/** Heap of one answer, once parsed. */
const MAX_COST = 16 * 1024 * 1024;
const DEADLINE_MS = 5_000;
/** The total size is at the start of the index, which lists each tensor and can have many megabytes. */
const START_OF_INDEX = 256 * 1024;

/** Anonymously: a tenant's token is not sent (decision 0220). Never throws. */
export async function lookUpModel(
  egress: Pick<EgressAgent, 'request'>,
  question: LookUpModelQuestion,
): Promise<LookUpModelAnswer> {
  try {
    const config = await fetchFile(egress, question, 'config.json');
    if (config.status !== 200 || config.isTruncated) return explainStatus(config);
    const shape = parseShape(config.body);
    const weights = await findWeights(egress, question);
    if ('status' in weights) return explainOutage(weights.status);
    return { found: true, shape, ...weights };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    return { found: false, isFinal: false, message: `could not be read: the hub ${error.message}` };
  }
}

function explainStatus({ status, isTruncated }: EgressAnswer): LookUpModelAnswer {
  if (status === 401 || status === 403)
    return {
      found: false,
      isFinal: true,
      message: 'does not exist, or is gated or private: it is read without a token',
    };
  if (status === 404) return { found: false, isFinal: true, message: 'has no config.json' };
  if (isTruncated) return { found: false, isFinal: true, message: 'has a config.json of more than 1 MiB' };
  return explainOutage(status);
}

const explainOutage = (status: number): LookUpModelAnswer => ({
  found: false,
  isFinal: false,
  message: `could not be read: the hub returned ${status}`,
});

function parseShape(body: Buffer) {
  if (findJsonFault(body, MAX_COST) !== null) return null;
  try {
    return readModelShape(JSON.parse(body.toString())) ?? null;
  } catch {
    return null;
  }
}

/** The status of a hub that neither has the file nor reports it as missing, such as 429. */
async function findWeights(
  egress: Pick<EgressAgent, 'request'>,
  question: LookUpModelQuestion,
): Promise<{ weightBytes: number | null } | { status: number }> {
  const index = await fetchFile(egress, question, 'model.safetensors.index.json', START_OF_INDEX);
  if (isContent(index)) return { weightBytes: readTotalSize(index.body) };
  if (index.status !== 404) return { status: index.status };
  const file = await fetchFile(egress, question, 'model.safetensors', 1);
  if (file.status === 404) return { weightBytes: null };
  if (!isContent(file)) return { status: file.status };
  const [, whole] = /\/(\d+)$/.exec(String(file.headers['content-range'] ?? '')) ?? [];
  return { weightBytes: readSize(whole ?? file.headers['content-length']) };
}

const isContent = ({ status }: EgressAnswer): boolean => status === 200 || status === 206;

function readTotalSize(body: Buffer): number | null {
  const [, digits] = /"total_size"\s*:\s*(\d{1,15})\b/.exec(body.toString('latin1')) ?? [];
  return readSize(digits);
}

function readSize(value: unknown): number | null {
  const size = Number(value ?? 0);
  return Number.isSafeInteger(size) && size > 0 ? size : null;
}

/** `start`: only so many bytes are needed. Throws EgressError. */
function fetchFile(
  egress: Pick<EgressAgent, 'request'>,
  { hub, repo, revision }: LookUpModelQuestion,
  name: string,
  start?: number,
): Promise<EgressAnswer> {
  const path = `${repo}/resolve/${encodeURIComponent(revision)}/${name}`;
  return requestFollowing(egress, {
    url: `${hub.replace(/\/+$/, '')}/${path}`,
    method: 'GET',
    headers: start ? { range: `bytes=0-${start - 1}` } : {},
    deadlineMs: DEADLINE_MS,
    allowance: () => new Allowance(MAX_BYTES),
  });
}
