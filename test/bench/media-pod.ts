/** A sidecar of an image or video deployment on the system's core, its fake engine and bucket on the load's. */

import { buildGatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { SIDECAR_SECRET_FILES } from '../../api/names.ts';
import type { RequestRecord } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import { pollUntil } from '../support/poll.ts';
import { PREFIX } from '../support/request-fixture.ts';
import { LOAD_CORE, SYSTEM_CORE, startPinned, stopPinned, waitForPort } from './pinned-process.ts';
import { API_KEY, buildSidecar, PORTS, publishBench } from './systems.ts';

export const MEDIA_ENGINE_URL = `http://127.0.0.1:${PORTS.mediaEngine}`;
export const GATEWAY_URL = `http://127.0.0.1:${PORTS.berth}`;
export const LARGE_BYTES = 200e6;
export const IMAGE_BYTES = 32 * 1024 ** 2;

export interface MediaPod {
  /** Process of the sidecar. */
  pid: number;
  /** Resolves when the request has succeeded. */
  run(prompt: 'small' | 'large'): Promise<RequestRecord>;
  /** The same for a queued one. */
  untilSucceeded(id: string): Promise<RequestRecord>;
  stop(): Promise<void>;
}

type Kind = 'image' | 'video';

const namespace = 'bench';
const JOB_MS = 60_000;

const SPECS: Record<Kind, object> = {
  image: { kind: 'Image', image: { sizes: ['64x64'], tasks: ['txt2img', 'img2img'] } },
  video: { kind: 'Video', video: { resolutions: ['64x64'], tasks: ['t2v'] } },
};

const ROUTES: Record<Kind, { path: string; fields: object }> = {
  image: { path: '/v1/images/generations', fields: { async: true, size: '64x64' } },
  video: { path: '/v1/videos/generations', fields: { resolution: '64x64', duration: 1 } },
};

export async function startMediaPod(redis: RedisClient, kind: Kind): Promise<MediaPod> {
  const config = buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: kind, namespace },
      spec: { model: { id: kind }, engine: { preset: 'custom', image: 'none' }, ...SPECS[kind] },
    }),
  );
  await publishBench(redis);
  await publishDeployment(redis, config);
  const engine = startPinned(
    LOAD_CORE,
    {
      program: process.execPath,
      args: ['test/bench/media-engine.ts'],
      env: {
        PORT: String(PORTS.mediaEngine),
        LARGE_BYTES: String(LARGE_BYTES),
        IMAGE_BYTES: String(IMAGE_BYTES),
      },
    },
    '/dev/null',
  );
  await waitForPort(PORTS.mediaEngine);
  const command = buildSidecar(config, MEDIA_ENGINE_URL, {
    files: {
      [SIDECAR_SECRET_FILES.storageToken]: 'bench',
      [SIDECAR_SECRET_FILES.requestPrefix]: PREFIX,
    },
    env: { [GATEWAY_ENV.storageURL]: MEDIA_ENGINE_URL },
  });
  const sidecar = startPinned(SYSTEM_CORE, command, '/dev/null');
  await waitForPort(PORTS.berth);
  const untilSucceeded = (id: string) => awaitSuccess(redis, id);
  return {
    pid: sidecar.pid!,
    run: async (prompt) => untilSucceeded(await submit(kind, prompt)),
    untilSucceeded,
    stop: async () => {
      await stopPinned(sidecar);
      await stopPinned(engine);
    },
  };
}

async function submit(kind: Kind, prompt: string): Promise<string> {
  const { path, fields } = ROUTES[kind];
  const response = await fetch(GATEWAY_URL + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: kind, prompt, ...fields }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`the submission was answered ${response.status}: ${answer}`);
  return (JSON.parse(answer) as { id: string }).id;
}

async function awaitSuccess(redis: RedisClient, id: string): Promise<RequestRecord> {
  let record: RequestRecord | null = null;
  await pollUntil(
    async () => {
      record = await readRequest(redis, namespace, id);
      if (record?.status === 'failed') throw new Error(`${record.errorCode}: ${record.errorMessage}`);
      return record?.status === 'succeeded';
    },
    'the end of a request',
    JOB_MS,
  );
  return record!;
}
