/** Requests to the endpoint that is checked, and what a check tells. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export type Outcome = { verdict: 'passed' | 'failed' | 'skipped'; detail: string };

/** By title, in the order in which they run. */
export type Checks = Record<string, (model: Model) => Promise<Outcome>>;

const { URL: BASE = '', KEY = '', DEPLOYMENT, NAMESPACE = 'default', CONTEXT } = process.env;
const BASE_URL = BASE.replace(/\/+$/, '');
export const MAX_REASON = 300;
/** Requests per minute that the checks need together. */
const MIN_RPM = 1_000;

export const passed = (detail: string): Outcome => ({ verdict: 'passed', detail });
export const failed = (detail: string): Outcome => ({ verdict: 'failed', detail });
export const skipped = (detail: string): Outcome => ({ verdict: 'skipped', detail });
export const judge = (isGood: boolean, detail: string): Outcome => (isGood ? passed(detail) : failed(detail));

export const get = (path: string): Promise<Response> =>
  fetch(`${BASE_URL}${path}`, { headers: { authorization: `Bearer ${KEY}` } });

export const post = (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${BASE_URL}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

/** A form: the content type has its boundary. */
export const postForm = (path: string, fields: Record<string, string | File>): Promise<Response> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return fetch(`${BASE_URL}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body: form,
  });
};

/** Throws with the reason of an answer that is a refusal, and what to do where it is the key's limits. */
export async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = (await response.text()).slice(0, MAX_REASON);
  const isLimited = response.status === 429 && text.includes('requests per minute');
  throw new Error(`${response.status} ${text}${isLimited ? `; use a key with rpm ≥ ${MIN_RPM}` : ''}`);
}

export interface Model {
  id: string;
  routes: string[];
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
