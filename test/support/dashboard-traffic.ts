/** Traffic after which every panel of the dashboards has data: of all kinds, with all failures of clients and engines. */
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { makePicture } from './media-files.ts';

const STREAMS = 5;
const SIMULATOR = {
  preset: 'simulator',
  env: [
    { name: 'SIMULATOR_TTFT_MS', value: '20' },
    { name: 'SIMULATOR_TOKENS', value: '20' },
    { name: 'SIMULATOR_ITL_MS', value: '10' },
    { name: 'SIMULATOR_JOB_SECONDS', value: '0.2' },
  ],
};

interface EnvironmentVariable {
  name: string;
  value: string;
}

/** A workspace with credit, a credential with an unreachable bucket, and the deployments that are called. */
export function describeObjects(namespace: string, env: EnvironmentVariable[] = []) {
  const apiVersion = 'berth.dev/v1alpha1';
  const engine = { ...SIMULATOR, env: [...SIMULATOR.env, ...env] };
  const describe = (kind: string, name: string, spec: object) => ({
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec,
  });
  const describeModel = (name: string, spec: object) =>
    describe('ModelDeployment', name, { kind: 'LLM', model: { id: name }, engine, ...spec });
  return [
    describeModel('chat', {
      replicas: 2,
      concurrency: 1,
      limits: { waitForSlot: '0s' },
      slo: { availability: 99.9, timeToFirstToken: { within: '800ms' } },
    }),
    describeModel('picture', { kind: 'Image', image: { sizes: ['64x64'], tasks: ['txt2img', 'img2img'] } }),
    describeModel('asleep', { scaling: { min: 0, max: 1, coldStart: { mode: 'Hold', holdFor: '2m' } } }),
    describe('Workspace', 'workspace', { ownerEmail: 'owner@example.com', credit: '1000' }),
    // Its condition fails.
    describe('StorageCredential', 'unreachable', {
      endpoint: 'http://127.0.0.1:1',
      bucket: 'none',
      secret: 'none',
    }),
  ];
}
export const DEPLOYMENTS = ['chat', 'picture', 'asleep'] as const;
type Name = (typeof DEPLOYMENTS)[number];

export interface TrafficOptions {
  find: (name: Name) => Pick<EndpointEntry, 'baseURL' | 'apiKey'>;
  /** Makes the next call of this deployment's engines fail. */
  failNext: (name: Name, fault: object) => Promise<void>;
  webhookURL: string;
  consoleURL: string;
  /** Trace of the chats. */
  traceparent: string;
}

/** One round. */
export async function makeTraffic(options: TrafficOptions): Promise<void> {
  const { find, failNext, webhookURL, consoleURL, traceparent } = options;
  const call = (name: Name, path: string, body: object | FormData, signal?: AbortSignal) => {
    const { baseURL, apiKey } = find(name);
    const isForm = body instanceof FormData;
    return fetch(`${baseURL}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        traceparent,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  };
  const post = async (name: Name, path: string, body: object | FormData) => {
    const response = await call(name, path, body);
    await response.text();
  };
  const leave = async () => {
    const left = new AbortController();
    const response = await call('chat', '/chat/completions', { ...CHAT, stream: true }, left.signal);
    await response.body?.getReader().read();
    left.abort();
  };
  const picture = { model: 'picture', prompt: 'A cat', size: '64x64' };
  await failNext('picture', { kind: 'status', status: 500 });
  await post('picture', '/images/generations', picture);
  await leave();
  await Promise.all([
    // More than the replicas can serve: some are forwarded, some refused.
    ...Array.from({ length: STREAMS }, () => post('chat', '/chat/completions', { ...CHAT, stream: true })),
    post('picture', '/images/generations?async=true', { ...picture, webhook_url: webhookURL }),
    post('picture', '/images/edits?async=true', await describeEdit()),
    post('picture', '/images/generations', picture),
    post('asleep', '/chat/completions', { ...CHAT, model: 'asleep' }),
    fetch(`${consoleURL}/api/session`).then((response) => response.text()),
  ]);
}

const CHAT = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };

/** Its input is stored, and removed when it ends. */
async function describeEdit(): Promise<FormData> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'picture', prompt: 'A cat', size: '64x64' }))
    form.append(name, value);
  const image = new Uint8Array(await makePicture(64, 64));
  form.append('image', new Blob([image], { type: 'image/png' }), 'cat.png');
  return form;
}
