/** Images, videos and their requests, as a program without an SDK asks for them. */
import { expect } from 'chai';
import { LABELS } from '../../api/names.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import type { Answer } from './envelope.ts';
import { isPodReady, listPods, type Pod, waitUntil } from './installation.ts';

type Address = Pick<EndpointEntry, 'baseURL' | 'apiKey'>;

export interface InferenceRequest {
  id: string;
  status: string;
  modality: string;
  output_object_key: string | null;
  output_bucket: string | null;
  storage_provider: string | null;
  output_urls?: string[];
  error_code: string | null;
  error_message: string | null;
}

export interface MediaAnswer extends Answer {
  body: Answer['body'] &
    Partial<InferenceRequest> & { data?: { url?: string; b64_json?: string }[]; progress?: number };
}

/** Sends JSON or a form; nothing is retried, no redirect followed. */
export async function send(
  { baseURL, apiKey }: Address,
  path: string,
  { method, body, headers = {} }: { method?: string; body?: object; headers?: Record<string, string> } = {},
): Promise<MediaAnswer> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${baseURL}${path}`, {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body && !isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
    redirect: 'manual',
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parseBody(text) };
}

/** An ingress has error pages of its own. */
function parseBody(text: string): MediaAnswer['body'] {
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return { error: { code: 'not_json', message: text } } as MediaAnswer['body'];
  }
}

/** As a multipart form; a Buffer is a PNG. */
export function makeForm(fields: Record<string, string | number | Buffer>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (Buffer.isBuffer(value))
      form.append(name, new Blob([new Uint8Array(value)], { type: 'image/png' }), `${name}.png`);
    else form.append(name, String(value));
  return form;
}

/** Submits a small video and answers its id. */
export async function submitVideo(
  endpoint: EndpointEntry,
  headers: Record<string, string> = {},
): Promise<string> {
  const { seconds, fps } = endpoint.native ?? { seconds: 1, fps: 8 };
  const body = makeForm({ model: endpoint.modelId, prompt: 'A ship', size: '320x192', seconds, fps });
  const { status, body: video } = await send(endpoint, '/videos', { body, headers });
  expect(status, JSON.stringify(video)).to.equal(202);
  return video.id!;
}

export async function readRequest(endpoint: Address, id: string): Promise<InferenceRequest> {
  const { status, body } = await send(endpoint, `/requests/${id}`);
  expect(status, JSON.stringify(body)).to.equal(200);
  return body as InferenceRequest;
}

export const waitForStatus = (endpoint: Address, id: string, status: string, seconds = 90): Promise<void> =>
  waitUntil(
    `${id} to be ${status}`,
    seconds,
    async () => (await readRequest(endpoint, id)).status === status,
  );

/** The request once it has ended, however it did. */
export async function waitForEnd(endpoint: Address, id: string, seconds = 120): Promise<InferenceRequest> {
  let request: InferenceRequest;
  await waitUntil(`${id} to end`, seconds, async () => {
    const { status, body } = await send(endpoint, `/requests/${id}`);
    // A pod that was just killed is an error page of the ingress until it and the operator have noticed.
    if (body.error?.code === 'not_json') return false;
    expect(status, JSON.stringify(body)).to.equal(200);
    request = body as InferenceRequest;
    return !/^(queued|running)$/.test(request.status);
  });
  return request!;
}

/** The same, where it has to succeed. */
export async function waitForSuccess(
  endpoint: Address,
  id: string,
  seconds = 120,
): Promise<InferenceRequest> {
  const request = await waitForEnd(endpoint, id, seconds);
  expect([request.status, request.error_code, request.error_message]).to.deep.equal([
    'succeeded',
    null,
    null,
  ]);
  return request;
}

const CONTROL_PORT = 9100;

/** Changes settings of all simulators of a deployment; see docs/simulator.md. */
export async function steer({ name, namespace }: EndpointEntry, settings: object | null): Promise<void> {
  for (const url of await listControls(name, namespace)) {
    const change = settings ? { method: 'PUT', body: JSON.stringify(settings) } : { method: 'DELETE' };
    const response = await fetch(url, change);
    expect(response.status).to.equal(200);
  }
}

/** Calls and jobs that each simulator of a ready pod works on. */
export async function listInflight({ name, namespace }: EndpointEntry): Promise<number[]> {
  const urls = await listControls(name, namespace);
  const states = await Promise.all(urls.map(async (url) => (await fetch(url)).json()));
  return states.map((state) => (state as { inflight: number }).inflight);
}

/** Those of all of them. */
export const countInflight = async (endpoint: EndpointEntry): Promise<number> =>
  (await listInflight(endpoint)).reduce((sum, inflight) => sum + inflight, 0);

async function listControls(name: string, namespace: string): Promise<string[]> {
  const pods = await listPods(`${LABELS.deployment}=${name}`, namespace);
  return pods.filter(isPodReady).map(findControl);
}

/** The control port of a pod's simulator. */
export const findControl = ({ status }: Pod): string => `http://${status.podIP}:${CONTROL_PORT}/control`;
