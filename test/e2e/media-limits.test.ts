import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { makePicture } from '../support/media-files.ts';
import { expectError } from './envelope.ts';
import { findEndpoint, waitUntil } from './installation.ts';
import { countInflight, type MediaAnswer, makeForm, send, steer, waitForSuccess } from './media.ts';

const BUDGET_SECONDS = 30;

describe('a synchronous image', () => {
  const endpoint = findEndpoint('tiny-image');
  const other = findEndpoint('tiny-image', 'other');
  const generate = ({ modelId, ...address }: EndpointEntry, query = ''): Promise<MediaAnswer> =>
    send(address, `/images/generations${query}`, {
      body: { model: modelId, prompt: 'A harbour', size: '256x256' },
    });
  afterEach(async () => {
    for (const model of [endpoint, other]) await steer(model, null);
  });

  it('is refused with 429 replica_saturated while every replica is busy; in the background it is taken', async () => {
    await steer(endpoint, { jobSeconds: 12 });
    const first = generate(endpoint);
    await waitUntil('the engine to be busy', 30, async () => (await countInflight(endpoint)) === 1);
    const refused = await generate(endpoint);
    expectError(refused, 429, 'replica_saturated');
    expect(refused.headers.get('retry-after')).to.equal('5');
    const queued = await generate(endpoint, '?async=true');
    expect(queued.status).to.equal(202);
    await steer(endpoint, { jobSeconds: 0.2 });
    expect((await first).status).to.equal(200);
    await waitForSuccess(endpoint, queued.body.id!);
  });

  it(`is given up with 504 after ${BUDGET_SECONDS} s, and the slot is free again once the engine has stopped`, async () => {
    for (const model of [endpoint, other]) await steer(model, { jobSeconds: BUDGET_SECONDS + 1 });
    const start = performance.now();
    const image = await makePicture(64, 64);
    const form = makeForm({ model: other.modelId, prompt: 'At night', size: '256x256', image });
    const [generated, edited] = await Promise.all([
      generate(endpoint),
      send(other, '/images/edits', { body: form }),
    ]);
    expectError(generated, 504, 'image_generation_timeout');
    expectError(edited, 504, 'image_edit_timeout');
    expect((performance.now() - start) / 1000).to.be.within(BUDGET_SECONDS - 1, BUDGET_SECONDS + 25);
    for (const model of [endpoint, other]) {
      await steer(model, { jobSeconds: 0.2 });
      await waitUntil('a free slot', 30, async () => (await generate(model)).status === 200);
    }
  });
});
