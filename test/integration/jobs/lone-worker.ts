/** A worker in the test's own process, beside an engine of the test's choice. */

import { sealParams } from '../../../api/sealed-request.ts';
import { Slots } from '../../../gateway/capacity/replica-capacity.ts';
import type { WorkerServices } from '../../../gateway/jobs/services.ts';
import { startWorker } from '../../../gateway/jobs/worker.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { describeEngine } from '../../support/local-engine.ts';
import type { MediaWorkspace } from '../../support/media-workspace.ts';
import { describeModel } from '../../support/model-replica.ts';
import { newRequestId } from '../../support/request-fixture.ts';

/** With one slot, for the workspace's deployment; it takes its engine to be healthy. Returns the function that stops it. */
export function startLoneWorker(
  { namespace, deployment }: MediaWorkspace,
  { redis, engineURL, onEngineLost = () => {} }: LoneWorkerOptions,
): () => Promise<void> {
  const config = describeModel({ kind: 'Video' }, { namespace, name: deployment });
  const log = createLog('silent');
  const engine = describeEngine(engineURL, { suspect: onEngineLost });
  const worker = startWorker({
    config: () => config,
    redis,
    storage: { promptKey: () => KEY } as Partial<WorkerServices['storage']> as WorkerServices['storage'],
    engine,
    pod: 'pod-1',
    telemetry: {
      log,
      metrics: createMetrics(),
      tracer: null,
      usage: new UsageMeter({ redis, log }).of(namespace, deployment, true),
    },
    slots: new Slots(() => 1),
    jobs: { running: 0, abandoned: 0 },
  });
  return async () => {
    await worker.stop(0);
    await engine.close();
  };
}

export interface LoneWorkerOptions {
  redis: RedisClient;
  engineURL: string;
  onEngineLost?: () => void;
}

const KEY = Buffer.alloc(32, 'key');
const FILM = JSON.stringify({
  v: 1,
  kind: 'video',
  credential: null,
  inputs: [],
  parameters: { task: 't2v', prompt: 'a cat', size: '64x64', frames: 9, fps: 8 },
});

/** Returns the request's id. */
export function submitFilm(space: MediaWorkspace): Promise<string> {
  const id = newRequestId();
  return space.submitted({ id, params: sealParams(FILM, { namespace: space.namespace, id }, KEY) });
}
