import { expect } from 'chai';
import { PEER_TOKEN_HEADER, RESERVATIONS_PATH } from '../../../gateway/capacity/peer-protocol.ts';
import { type KeyUsageRow, readKeyUsageRows } from '../../../redis/usage/key-usage.ts';
import { describePicture, makePicture } from '../../support/media-files.ts';
import { PEER_TOKEN } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { putObject } from '../../support/store-objects.ts';
import { type JobStack, startJobStack } from './job-stack.ts';

describe('image jobs', () => {
  let stack: JobStack;

  before(async () => {
    stack = await startJobStack({ kind: 'Image', jobSeconds: 0.05 });
  });
  after(() => stack?.stop());
  beforeEach(() => stack.pods[0]!.engine.control({ jobSeconds: 0.05, fault: null }));

  const reserve = async () =>
    fetch(`${stack.pods[0]!.replica.origin}${RESERVATIONS_PATH}`, {
      method: 'POST',
      headers: { [PEER_TOKEN_HEADER]: PEER_TOKEN },
    });

  it('end with as many images of the size as were asked for', async () => {
    const id = await stack.submit({ n: 3, seed: 1 });
    const { output } = await stack.untilIs(id, 'succeeded');
    expect(output!.keys.map((key) => key.split('/').at(-1))).to.deep.equal(['0.png', '1.png', '2.png']);
    const { data } = (await stack.readEvents()).get(id)!;
    const payload = data.result_payload as { data: { url: string; object_key: string }[] };
    expect(payload.data.map(({ object_key }) => object_key)).to.deep.equal(output!.keys);
    for (const { url } of payload.data)
      expect(await describePicture(await (await fetch(url)).arrayBuffer())).to.equal('png 64x64');
  });

  it('are counted for their key, with their price, once they have succeeded', async () => {
    const sha256 = 'c'.repeat(64);
    const id = await stack.submit({}, {}, { sha256, priceMicros: 1_500 });
    await stack.untilIs(id, 'succeeded');
    const { namespace, name: deployment } = stack.config;
    const day = { from: Date.now() - 86_400_000, to: Date.now() };
    const read = async () => {
      const question = { namespace, deployments: [deployment], ...day };
      const found: KeyUsageRow[] = [];
      for await (const rows of readKeyUsageRows(stack.connection.redis, question))
        found.push(...rows.filter(({ keyHash }) => sha256.startsWith(keyHash)));
      return found;
    };
    await pollUntil(async () => (await read()).length > 0, 'the usage of the key');
    expect((await read())[0]).to.include({ requests: 1, micros: 1_500, inputTokens: 0 });
  });

  it('provide edits with their images, in order', async () => {
    const inputs = [];
    for (const width of [20, 30]) {
      const picture = await makePicture(width, 20);
      const object = { credential: null, key: `inputs/team/req_2/${width}.png` };
      await putObject(stack.storage.store, object.key, picture, 'image/png');
      inputs.push({ object, contentType: 'image/png', fileName: `${width}.png`, bytes: picture.length });
    }
    await stack.untilIs(await stack.submit({ task: 'img2img' }, { inputs }), 'succeeded');
    const { last } = await stack.pods[0]!.engine.read();
    const files = (last!.body as { name: string; size: number }[]).filter(({ name }) => /^image/.test(name));
    expect(files.map(({ size }) => size)).to.deep.equal(inputs.map(({ bytes }) => bytes));
  });

  it('read parameters that were too long for the record', async () => {
    const prompt = 'a cat '.repeat(3_000);
    const job = {
      v: 1,
      kind: 'image',
      credential: null,
      inputs: [],
      parameters: { task: 'txt2img', prompt, size: '64x64', n: 1 },
    };
    const object = { credential: null, key: 'inputs/team/req_3/parameters.json' };
    await putObject(stack.storage.store, object.key, Buffer.from(JSON.stringify(job)), 'application/json');
    const params = JSON.stringify({ v: 1, kind: 'stored', object });
    await stack.untilIs(await stack.send({ modality: 'image', params }), 'succeeded');
    const { last } = await stack.pods[0]!.engine.read();
    expect((last!.body as { prompt: string }).prompt).to.equal(prompt);
  });

  it('are not claimed while somebody else has the slot, and soon after it is free', async () => {
    const begun = performance.now();
    expect((await reserve()).status).to.equal(201);
    const { requests } = await stack.pods[0]!.engine.read();
    const id = await stack.submit();
    await pollUntil(async () => (await stack.read(id)).status !== 'queued', 'the claim');
    // A slot that was reserved for a peer is free again after 2 s.
    expect(performance.now() - begun).to.be.above(1_900);
    await stack.untilIs(id, 'succeeded');
    expect((await stack.pods[0]!.engine.read()).requests).to.equal(requests + 1);
  });

  it('hold the slot while the engine works, and no longer', async () => {
    await stack.pods[0]!.engine.control({ jobSeconds: 3 });
    const id = await stack.submit();
    await stack.untilIs(id, 'running');
    expect((await reserve()).status).to.equal(429);
    await stack.untilIs(id, 'succeeded');
    expect((await reserve()).status).to.equal(201);
    // Used up, so that it does not affect the next test.
    await pollUntil(async () => (await reserve()).status === 201, 'the slot');
  });

  it('are claimed within a few milliseconds when a slot is free', async () => {
    await stack.untilIs(await stack.submit(), 'succeeded');
    const waits: number[] = [];
    for (let i = 0; i < 15; i++) {
      const { queuedAt, startedAt } = await stack.untilIs(await stack.submit(), 'succeeded');
      waits.push(startedAt! - queuedAt);
    }
    const median = waits.sort((a, b) => a - b)[7]!;
    if (process.env.SHOW) console.log(`queue wait: ${waits.join(' ')} ms`);
    // Far below what polling would take: the message woke the worker.
    expect(median).to.be.below(800);
    expect(await stack.pods[0]!.replica.metrics()).to.match(
      /berth_gateway_queue_wait_seconds_count\{modality="image"\} \d+/,
    );
  });

  it('run as many at once as there are slots', async () => {
    await stack.publish({ concurrency: 3 });
    await stack.pods[0]!.engine.control({ jobSeconds: 2 });
    const ids = await Promise.all(Array.from({ length: 5 }, () => stack.submit()));
    let most = 0;
    await pollUntil(
      async () => {
        most = Math.max(most, (await stack.pods[0]!.engine.read()).inflight);
        const records = await Promise.all(ids.map((id) => stack.read(id)));
        return records.every(({ status }) => status === 'succeeded');
      },
      'all ended',
      30_000,
    );
    expect(most).to.equal(3);
    await stack.publish({});
  });
});
