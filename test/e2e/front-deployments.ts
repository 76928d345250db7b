/** Deployments of images without a replica: fronts take their requests, which wait. */
import { request } from 'node:http';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { apply, findEndpoint, kubectl, waitUntil } from './installation.ts';
import { send } from './media.ts';

export async function deployAtFront(
  name: string,
  namespace: string,
  spec: object = {},
): Promise<EndpointEntry> {
  const modelId = `e2e/${name}`;
  await apply({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name, namespace },
    spec: {
      kind: 'Image',
      model: { id: modelId },
      engine: { preset: 'simulator' },
      image: { sizes: ['256x256'], tasks: ['txt2img', 'img2img'] },
      replicas: 0,
      ...spec,
    },
  });
  const example = findEndpoint('tiny-image', namespace);
  const endpoint = { ...example, name, modelId, baseURL: example.baseURL.replace('tiny-image', name) };
  await waitUntil(`${name} to be known at the fronts`, 60, async () => {
    const { status, body } = await send(endpoint, '/models');
    return status !== 404 && body.error?.code !== 'not_json';
  });
  return endpoint;
}

export const removeAtFront = async ({ name, namespace }: EndpointEntry): Promise<void> => {
  await kubectl('delete', 'modeldeployment', name, '-n', namespace, '--ignore-not-found', '--timeout=120s');
};

export interface OpenUpload {
  /** Resolves once all that was promised but the end was sent, or the front would take no more. */
  sent: Promise<void>;
  end(): void;
}

/** A form whose file has so many bytes and whose last one never comes. */
export function openUpload({ baseURL, apiKey }: EndpointEntry, bytes: number): OpenUpload {
  const boundary = 'never-ends';
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`;
  const call = request(`${baseURL}/images/edits?async=true`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + bytes + 1,
    },
  });
  const chunk = Buffer.alloc(1024 * 1024);
  const sent = new Promise<void>((resolve) => {
    for (const event of ['error', 'response', 'close']) call.on(event, () => resolve());
    let left = bytes;
    const write = () => {
      while (left > 0 && !call.destroyed) {
        const size = Math.min(left, chunk.length);
        left -= size;
        if (!call.write(chunk.subarray(0, size))) return;
      }
      resolve();
    };
    call.on('drain', write);
    call.write(head);
    write();
  });
  return { sent, end: () => call.destroy() };
}
