/** Requests to the endpoint under test, and the results of checks. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export type Outcome = { verdict: 'passed' | 'failed' | 'skipped'; detail: string };

/** By title, in the order in which they run. */
export type Checks = Record<string, (model: Model) => Promise<Outcome>>;

const { URL: BASE = '', KEY = '', DEPLOYMENT, NAMESPACE = 'default', CONTEXT } = process.env;
const BASE_URL = BASE.replace(/\/+$/, '');
export const MAX_REASON = 300;
/** Requests per minute, and tokens per day, that the checks need together. */
const MIN_RPM = 1_000;
const MIN_TPD = 10_000_000;
/** With requests that find no place on the engine. */
const RETRY_TIMEOUT_MS = 10 * 60_000;

export const passed = (detail: string): Outcome => ({ verdict: 'passed', detail });
export const failed = (detail: string): Outcome => ({ verdict: 'failed', detail });
export const skipped = (detail: string): Outcome => ({ verdict: 'skipped', detail });
export const judge = (isGood: boolean, detail: string): Outcome => (isGood ? passed(detail) : failed(detail));

interface Sending {
  signal?: AbortSignal | undefined;
  /** Instead of KEY. */
  key?: string | undefined;
}

const call = (path: string, init: RequestInit, { signal, key = KEY }: Sending = {}): Promise<Response> =>
  fetch(`${BASE_URL}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
    signal: signal ?? null,
  });

export const get = (path: string): Promise<Response> => call(path, {});
export const remove = (path: string): Promise<Response> => call(path, { method: 'DELETE' });

export const post = (path: string, body: object, sending?: Sending): Promise<Response> =>
  call(
    path,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    sending,
  );

/** Asks again while every place on the engine is taken: for more than it is to have at once. */
export async function askUntilAccepted(
  ask: () => Promise<Response>,
  signal?: AbortSignal,
): Promise<Response> {
  for (const end = performance.now() + RETRY_TIMEOUT_MS; ; ) {
    const response = await ask();
    if (response.status !== 429 || performance.now() > end) return response;
    if (!(await response.clone().text()).includes('replica_saturated')) return response;
    const seconds = Number(response.headers.get('retry-after') ?? 1);
    await sleep(seconds * 1_000, undefined, { signal });
  }
}

/** A form: the content type has its boundary. */
export const postForm = (
  path: string,
  fields: Record<string, string | File>,
  sending?: Sending,
): Promise<Response> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return call(path, { method: 'POST', body: form }, sending);
};

/** Throws with the reason of an answer that is a refusal, and what to do where it is the key's limits. */
export async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = (await response.text()).slice(0, MAX_REASON);
  throw new Error(`${response.status} ${text}${response.status === 429 ? adviseKey(text) : ''}`);
}

function adviseKey(refusal: string): string {
  if (refusal.includes('requests per minute')) return `; use a key with rpm ≥ ${MIN_RPM}`;
  return refusal.includes('tokens per day') ? `; use a key with tpd ≥ ${MIN_TPD}` : '';
}

export interface Model {
  id: string;
  routes: string[];
  /** Context length; absent until the engine has reported it. */
  max_model_len?: number;
  /** Parameters of images and videos by task: txt2img, img2img, t2v, i2v. */
  supported_parameters?: Record<string, { parameters: string[] }>;
}

/** What is behind the endpoint. Throws with what is wrong with the address, the key or the deployment. */
export async function readModel(): Promise<Model> {
  const response = await get('/models').catch((error: Error) => {
    throw new Error(
      `${BASE_URL} cannot be reached: ${(error.cause as Error | undefined)?.message ?? error.message}`,
    );
  });
  if (response.status === 404) throw new Error(`${BASE_URL} is no endpoint: it ends with /v1`);
  const { data } = (await (await requireOk(response)).json()) as { data: Model[] };
  return data[0]!;
}

/** Undefined without a DEPLOYMENT. */
export async function kubectl(...args: string[]): Promise<string | undefined> {
  if (!DEPLOYMENT) return undefined;
  const context = CONTEXT ? ['--context', CONTEXT] : [];
  const { stdout } = await promisify(execFile)('kubectl', [...context, '--namespace', NAMESPACE, ...args]);
  return stdout;
}

export const NO_CLUSTER = skipped('set DEPLOYMENT, and CONTEXT if it is not the current one');

export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export const ms = (value: number): string => `${value.toFixed(0)} ms`;

/** Why the first of them failed; undefined: none did. */
export const findReason = (results: readonly PromiseSettledResult<unknown>[]): string | undefined =>
  results.find((result) => result.status === 'rejected')?.reason.message;
