import { expect } from 'chai';
import { readCondition } from '../../launch/conditions.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { expectError, postChat } from './envelope.ts';
import { deploySimulator, kubectl, readModel, removeModel, waitUntil } from './installation.ts';

describe('a deployment that wants three GPUs on a node with two', () => {
  const name = 'three-gpus';
  let endpoint: EndpointEntry;
  before(async () => {
    endpoint = await deploySimulator(name, { gpu: { count: 3 } });
  });
  after(() => removeModel(name));

  it('says so in its status', async () => {
    await waitUntil('GPUsAvailable=False', 60, async () => {
      const gpus = readCondition(await readModel(name), 'GPUsAvailable');
      return gpus?.status === 'False';
    });
    const model = await readModel(name);
    expect(readCondition(model, 'GPUsAvailable')!.message).to.match(/Insufficient nvidia\.com\/gpu/);
    expect(readCondition(model, 'Ready')).to.include({ status: 'False' });
    expect(await kubectl('get', 'md', name, '-o', 'wide')).to.match(/Insufficient nvidia\.com\/gpu/);
  });

  it('answers 503 no_pod_available at its URL, and when to come back', async () => {
    await waitUntil('the route', 60, async () => (await postChat(endpoint)).status !== 404);
    const answer = await postChat(endpoint);
    expectError(answer, 503, 'no_pod_available');
    expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
  });
});
