import { expect } from 'chai';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { pollUntil } from '../../support/poll.ts';

import { type JobStack, startJobStack } from './job-stack.ts';

describe('jobs that fail', () => {
  let stack: JobStack;

  before(async () => {
    stack = await startJobStack({ kind: 'Video', jobSeconds: 0.2 });
  });
  after(() => stack?.stop());
  beforeEach(async () => {
    await stack.pods[0]!.engine.control({ jobSeconds: 0.2, fault: null });
    await stack.publish({});
  });

  const readSlots = async () => {
    const { namespace, name } = stack.config;
    return (await readHeartbeats(stack.connection.redis, namespace, name))[0]?.inflight;
  };

  const faults = [
    {
      what: 'the engine runs out of memory',
      fault: { kind: 'oom' },
      code: 'vram_exceeded',
      says: /out of memory/,
    },
    {
      what: 'the engine fails',
      fault: { kind: 'error-frame', afterFrames: 0, shape: 'nested' },
      code: 'upstream_error',
      says: /encountered an issue/,
    },
    {
      what: 'the engine refuses what is asked for',
      fault: { kind: 'status', status: 400, body: { error: { message: 'no such size' } } },
      code: 'invalid_input',
      says: /no such size/,
    },
    {
      what: 'the engine answers 500',
      fault: { kind: 'status', status: 500 },
      code: 'upstream_error',
      says: /engine/,
    },
    {
      what: 'the engine breaks off its answer',
      fault: { kind: 'drop', afterFrames: 0 },
      code: 'upstream_error',
      says: /closed the connection/,
    },
    {
      what: 'the film breaks off each time',
      fault: { kind: 'drop', afterFrames: 2 },
      code: 'upstream_error',
      says: /lost/,
    },
  ];
  for (const { what, fault, code, says } of faults)
    it(`end as ${code} when ${what}`, async () => {
      await stack.pods[0]!.engine.control({ fault });
      const id = await stack.submit();
      const record = await stack.untilIs(id, 'failed');
      expect(record.errorCode).to.equal(code);
      expect(record.errorMessage).to.match(says);
      const { type, data } = (await stack.readEvents()).get(id)!;
      expect(type).to.equal('request.failed');
      expect(data.error_code).to.equal(code);
      await pollUntil(async () => (await readSlots()) === 0, 'a free slot');
      await stack.untilIs(await stack.submit(), 'succeeded');
    });

  it('end as model_timeout at their deadline, and the slot is free once the engine has stopped', async () => {
    await stack.publish({ limits: { ...stack.config.limits, videoTimeoutMs: 700 } });
    await stack.pods[0]!.engine.control({ fault: { kind: 'hang', afterFrames: 0 } });
    const id = await stack.submit();
    const record = await stack.untilIs(id, 'failed');
    expect(record.errorCode).to.equal('model_timeout');
    await pollUntil(async () => (await stack.pods[0]!.engine.read()).inflight === 0, 'the engine lets go');
    await pollUntil(async () => (await readSlots()) === 0, 'a free slot');
    await stack.publish({});
    await stack.untilIs(await stack.submit(), 'succeeded');
  });

  it('end as invalid_input when their parameters cannot be read', async () => {
    for (const params of [
      '{"prompt":"a cat"}',
      'no JSON',
      '{"v":2}',
      '{"v":1,"kind":"image","inputs":[],"parameters":{"prompt":"a"}}',
    ]) {
      const record = await stack.untilIs(await stack.send({ params }), 'failed');
      expect(record.errorCode, params).to.equal('invalid_input');
    }
  });

  it('end as upstream_error when an input is gone', async () => {
    const object = { credential: null, key: 'inputs/team/req_gone/0.png' };
    const inputs = [{ object, contentType: 'image/png', fileName: 'a.png', bytes: 10 }];
    const record = await stack.untilIs(await stack.submit({ task: 'i2v' }, { inputs }), 'failed');
    expect(record).to.include({
      errorCode: 'upstream_error',
      errorMessage: 'An input file of the request no longer exists.',
    });
  });

  it('wait while nobody signs for their results, and then end well', async () => {
    stack.storage.setOpen(false);
    const id = await stack.submit();
    // More often than the URL signer itself asks.
    await pollUntil(() => stack.storage.refusals > 4, 'asked in vain');
    expect((await stack.read(id)).status).to.equal('running');
    stack.storage.setOpen(true);
    await stack.untilIs(id, 'succeeded');
  });

  it('end as upstream_error when the engine dies under them, and the next one runs on its successor', async () => {
    const [pod] = stack.pods;
    await pod!.engine.control({ jobSeconds: 30 });
    const id = await stack.submit();
    // The engine starts to work before it responds to the submission; the gateway reports progress only after that.
    await pollUntil(async () => (await stack.read(id)).progress > 0, 'the job runs');
    await pod!.engine.stop('SIGKILL');
    const record = await stack.untilIs(id, 'failed');
    expect(record).to.include({ errorCode: 'upstream_error' });
    expect(record.errorMessage).to.match(/lost/);
    const waiting = await stack.submit();
    await pollUntil(async () => (await readSlots()) === 0, 'a free slot');
    await pod!.restartEngine();
    await stack.untilIs(waiting, 'succeeded');
  });
});
