import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import type { VideoJob } from '../../../gateway/engine/job.ts';
import { EngineHealth } from '../../../gateway/health/engine-health.ts';
import { runEngine } from '../../../gateway/jobs/engine-job.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import { countQueue } from '../../../redis/console/console-reads.ts';
import { startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';

import { type JobStack, startJobStack } from './job-stack.ts';

for (const preset of ['vllm-omni', 'sglang-diffusion'])
  describe(`videos of an engine like ${preset}`, () => {
    let stack: JobStack;
    before(async () => {
      const model = { id: 'berth/chat', source: { pvc: { claimName: 'weights' } } };
      stack = await startJobStack({ kind: 'Video', spec: { engine: { preset }, model } });
      await stack.pods[0]!.engine.control({ like: preset });
    });
    after(() => stack?.stop());

    const engine = () => stack.pods[0]!.engine;
    const readAbandoned = async () =>
      /^berth_gateway_abandoned_jobs (\d+)$/m.exec(await stack.pods[0]!.replica.metrics())?.[1];

    it('end in success, however little it says on the way', async () => {
      await engine().control({ jobSeconds: 0.3 });
      const { output } = await stack.untilIs(await stack.submit(), 'succeeded');
      expect(output!.keys).to.have.lengthOf(1);
    });

    it('keep their slot after their deadline until the engine is done with them', async () => {
      const { limits } = stack.config;
      await engine().control({ jobSeconds: 3 });
      await stack.publish({ limits: { ...limits, videoTimeoutMs: 1_000 } });
      const late = await stack.submit();
      await pollUntil(async () => (await engine().read()).inflight === 1, 'it runs');
      await stack.publish({ limits });
      const next = await stack.submit();
      expect((await stack.untilIs(late, 'failed')).errorCode).to.equal('model_timeout');
      await pollUntil(async () => (await readAbandoned()) === '1', 'the metric');
      const { namespace, name: deployment } = stack.config;
      const countAbandoned = async () =>
        (await countQueue(stack.connection.redis, { namespace, deployment, replicas: 1 })).abandoned;
      await pollUntil(async () => (await countAbandoned()) === 1, 'the console to be told');
      // The engine works on, and nothing else is started there meanwhile.
      let most = 0;
      await pollUntil(async () => {
        most = Math.max(most, (await engine().read()).inflight);
        return (await stack.read(next)).status === 'succeeded';
      }, 'the next one');
      expect(most).to.equal(1);
      expect(await readAbandoned()).to.equal('0');
      await pollUntil(async () => (await countAbandoned()) === 0, 'the console to be told of its end');
    });

    it('fail with the reason that it gives', async () => {
      await engine().control({ jobSeconds: 0.1, fault: { kind: 'oom' }, faultTimes: 1 });
      expect((await stack.untilIs(await stack.submit(), 'failed')).errorCode).to.equal('vram_exceeded');
      await engine().control({ fault: { kind: 'error-frame' }, faultTimes: 1 });
      const { errorCode, errorMessage } = await stack.untilIs(await stack.submit(), 'failed');
      expect(errorCode).to.equal('upstream_error');
      expect(errorMessage).to.include('EngineCore encountered an issue');
    });
  });

describe('images of an engine like sglang-diffusion', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-mark-'));
  const mark = join(folder, 'out-of-memory');
  let stack: JobStack;
  before(async () => {
    const model = { id: 'berth/chat', source: { pvc: { claimName: 'weights' } } };
    const spec = { engine: { preset: 'sglang-diffusion' }, model };
    stack = await startJobStack({ kind: 'Image', spec, env: { [GATEWAY_ENV.memoryMark]: mark } });
    await stack.pods[0]!.engine.control({ like: 'sglang-diffusion', jobSeconds: 0.1 });
  });
  after(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true });
  });

  it('fail for lack of memory where its shell notes that, and for a reason that nobody knows otherwise', async () => {
    const { engine } = stack.pods[0]!;
    await engine.control({ fault: { kind: 'oom' }, faultTimes: 1 });
    const unknown = await stack.untilIs(await stack.submit(), 'failed');
    expect(unknown.errorCode).to.equal('upstream_error');
    expect(unknown.errorMessage).to.include('without a reason');

    await engine.control({ fault: { kind: 'oom' }, faultTimes: 1 });
    const id = await stack.submit();
    // As the shell does: while the request is under way.
    const noted = pollUntil(() => {
      writeFileSync(mark, '\n');
      return stack.read(id).then(({ status }) => status === 'failed');
    }, 'its end');
    const short = await stack.untilIs(id, 'failed');
    await noted;
    expect(short.errorCode).to.equal('vram_exceeded');
    expect(short.errorMessage).to.include('smaller `size`');
  });
});

describe('an engine whose worker is dead while its health check is good', () => {
  const JOB: VideoJob = {
    v: 1,
    kind: 'video',
    credential: null,
    inputs: [],
    parameters: { task: 't2v', prompt: 'a cat', size: '64x64', frames: 9, fps: 8 },
  };

  it('is condemned by one video that never ends, and trusted again after its restart', async () => {
    const env = { SIMULATOR_KIND: 'Video', SIMULATOR_LIKE: 'sglang-diffusion' };
    let engine = await startEngine({ ...env, SIMULATOR_FAULT: '{"kind":"hang"}' });
    const { url } = engine;
    const pools = new Pools();
    const health = new EngineHealth({
      engineURL: url,
      path: '/health',
      stalledMs: () => 3_600_000,
      bounds: { stalledTasks: 2, stuckMs: 300 },
      timing: { failingMs: 50, healthyMs: 50, evaluateMs: 20 },
    });
    try {
      await pollUntil(() => health.isReady, 'a ready engine');
      const giveUp = new AbortController();
      const deadline = new Error('deadline');
      let isReleased = false;
      const ended = rejection(
        runEngine(JOB, {
          pool: health.watch(pools.get(url)),
          enginePreset: 'sglang-diffusion',
          requestId: 'req_1',
          servedModelName: 'berth/chat',
          modelId: 'berth/chat',
          span: null,
          inputs: [],
          spool: await Spool.open({ folder: join(tmpdir(), `berth-stuck-${process.pid}`), maxBytes: 1e6 }),
          beginWork: () => health.begin({ isHeld: false }),
          isEngineLost: () => health.isLost,
          onEngineLost: () => health.suspect(),
          onProgress: () => giveUp.abort(deadline),
          signal: giveUp.signal,
          onRelease: () => {
            isReleased = true;
          },
          timing: { maxPollIntervalMs: 20, releaseTimeoutMs: 600 },
        }),
      );
      expect(await ended).to.equal(deadline);
      expect({ isReleased, isAlive: health.isAlive }).to.deep.equal({ isReleased: false, isAlive: true });
      await pollUntil(() => !health.isAlive, 'the verdict');
      expect(health.verdict).to.include({ phase: 'unhealthy', isReady: false });
      expect(health.verdict.reason).to.match(/an abandoned job still occupies it/);
      await pollUntil(() => isReleased, 'the slot');
      expect((await fetch(`${url}/health`)).status).to.equal(200);

      await engine.stop('SIGKILL');
      engine = await startEngine({ ...env, SIMULATOR_PORT: new URL(url).port });
      await pollUntil(() => health.isReady && health.isAlive, 'a good engine');
    } finally {
      health.stop();
      await pools.destroy();
      await engine.stop('SIGKILL');
    }
  });
});
