/** A sidecar of a video deployment on the system's core, its fake engine and bucket on the load's. */

import { buildGatewayConfig } from '../../api/gateway-config.ts';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { promptKey } from '../../api/identity.ts';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { SIDECAR_SECRET_FILES } from '../../api/names.ts';
import type { RequestRecord } from '../../api/request.ts';
import { sealParams } from '../../api/sealed-request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import { submitRequest } from '../../redis/requests/request-calls.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import { pollUntil } from '../support/poll.ts';
import { PREFIX, submissionOf } from '../support/request-fixture.ts';
import { LOAD_CORE, SYSTEM_CORE, startPinned, stopPinned, waitForPort } from './pinned-process.ts';
import { buildSidecar, PORTS } from './systems.ts';

export const MEDIA_ENGINE_URL = `http://127.0.0.1:${PORTS.mediaEngine}`;
export const LARGE_BYTES = 200e6;

export interface MediaPod {
  /** Of the sidecar. */
  pid: number;
  /** Resolves when the request has succeeded. */
  run(prompt: 'small' | 'large'): Promise<RequestRecord>;
  stop(): Promise<void>;
}

const namespace = 'bench';
const deployment = 'film';
const STORAGE_TOKEN = 'bench';
const JOB_MS = 60_000;

export async function startMediaPod(redis: RedisClient): Promise<MediaPod> {
  const config = buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: deployment, namespace },
      spec: {
        kind: 'Video',
        model: { id: 'film' },
        engine: { preset: 'custom', image: 'none' },
        video: { resolutions: ['64x64'], tasks: ['t2v'] },
      },
    }),
  );
  await loadLibrary(redis);
  await publishDeployment(redis, config);
  const engine = startPinned(
    LOAD_CORE,
    {
      program: process.execPath,
      args: ['test/bench/media-engine.ts'],
      env: { PORT: String(PORTS.mediaEngine), LARGE_BYTES: String(LARGE_BYTES) },
    },
    '/dev/null',
  );
  await waitForPort(PORTS.mediaEngine);
  const command = buildSidecar(config, MEDIA_ENGINE_URL, {
    files: {
      [SIDECAR_SECRET_FILES.storageToken]: STORAGE_TOKEN,
      [SIDECAR_SECRET_FILES.requestPrefix]: PREFIX,
    },
    env: { [GATEWAY_ENV.storageURL]: MEDIA_ENGINE_URL },
  });
  const sidecar = startPinned(SYSTEM_CORE, command, '/dev/null');
  await waitForPort(PORTS.berth);
  return {
    pid: sidecar.pid!,
    run: (prompt) => run(redis, prompt),
    stop: async () => {
      await stopPinned(sidecar);
      await stopPinned(engine);
    },
  };
}

async function run(redis: RedisClient, prompt: string): Promise<RequestRecord> {
  const parameters = { task: 't2v', prompt, size: '64x64', frames: 9, fps: 8 };
  const submission = submissionOf({ namespace, deployment });
  const params = JSON.stringify({ v: 1, kind: 'video', credential: null, inputs: [], parameters });
  submission.params = sealParams(params, submission, promptKey(STORAGE_TOKEN));
  const { verdict } = await submitRequest(redis, submission);
  if (verdict !== 'accepted') throw new Error(`the submission was answered ${verdict}`);
  let record: RequestRecord | null = null;
  await pollUntil(
    async () => {
      record = await readRequest(redis, namespace, submission.id);
      if (record?.status === 'failed') throw new Error(`${record.errorCode}: ${record.errorMessage}`);
      return record?.status === 'succeeded';
    },
    'the end of a request',
    JOB_MS,
  );
  return record!;
}
