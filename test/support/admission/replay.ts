/** Sends the manifests to an API server, and compares its answers with the recorded ones. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { MANIFESTS, type Manifest } from './manifests.ts';

export interface Answer {
  status: number;
  /** The message of a refusal that names no fields. */
  message?: string;
  /** In order of their text: API servers check fields in any order. */
  causes?: { reason: string; field: string; message: string }[];
}

export type Send = (
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  body: object,
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test checks
) => Promise<{ status: number; body: any }>;

export const ANSWERS_FILE = join(import.meta.dirname, 'answers.json');

export const keyOf = ({ kind, what }: Manifest): string => `${kind}: ${what}`;

export const readAnswers = (): Record<string, Answer> => JSON.parse(readFileSync(ANSWERS_FILE, 'utf8'));

/** A name that no other manifest takes. */
const nameOf = ({ kind, name }: Manifest, index: number): string =>
  name ?? (kind === 'Workspace' ? 'workspace' : `manifest-${index}`);

/** Creates, or updates, the object in namespace `default`. */
export async function ask(send: Send, manifest: Manifest): Promise<Answer> {
  const { kind, spec, before, status } = manifest;
  const list = `/apis/${API_VERSION}/namespaces/default/${kind.toLowerCase()}s`;
  const strict = '?fieldValidation=Strict';
  const name = nameOf(manifest, MANIFESTS.indexOf(manifest));
  const object = { apiVersion: API_VERSION, kind, metadata: { name }, spec: before ?? spec };
  const first = await send('POST', list + strict, object);
  if (!before && !status) return toAnswer(first);
  if (first.status !== 201) throw new Error(`${keyOf(manifest)}: ${JSON.stringify(first.body)}`);
  const at = `${list}/${name}`;
  if (status) return toAnswer(await send('PATCH', `${at}/status${strict}`, { status }));
  return toAnswer(await send('PUT', at + strict, { ...first.body, spec }));
}

function toAnswer({ status, body }: Awaited<ReturnType<Send>>): Answer {
  if (status < 300) return { status };
  const causes = body.details?.causes as Answer['causes'];
  if (!causes) return { status, message: body.message };
  return { status, causes: causes.toSorted((a, b) => compare(a.field + a.message, b.field + b.message)) };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
