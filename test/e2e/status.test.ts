import { expect } from 'chai';
import { setUnhealthyGPUs } from '../../cluster/cluster.ts';
import { readCondition } from '../../launch/conditions.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { expectError, postChat } from './envelope.ts';
import { cluster, deploySimulator, kubectl, readModel, removeModel, waitUntil } from './installation.ts';

const waitForCondition = (name: string, type: string, status: string) =>
  waitUntil(
    `${type}=${status}`,
    60,
    async () => readCondition(await readModel(name), type)?.status === status,
  );

describe('a deployment that wants three GPUs on a node with two', () => {
  const name = 'three-gpus';
  let endpoint: EndpointEntry;
  before(async () => {
    endpoint = await deploySimulator(name, { gpu: { count: 3 } });
  });
  after(() => removeModel(name));

  it('says so in its status', async () => {
    await waitForCondition(name, 'GPUsAvailable', 'False');
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

describe('a deployment that wants the last GPU, which has failed', () => {
  const name = 'last-gpu';
  const allocatable = '{.items[0].status.allocatable.nvidia\\.com/gpu}';
  before(async () => {
    setUnhealthyGPUs(cluster, ['GPU-1']);
    const countGPUs = () =>
      kubectl('get', 'nodes', '-l', 'node-role.kubernetes.io/control-plane', '-o', `jsonpath=${allocatable}`);
    await waitUntil('one GPU', 60, async () => (await countGPUs()) === '1');
    // An example has the other one.
    await deploySimulator(name, { gpu: { count: 1 } });
  });
  after(async () => {
    setUnhealthyGPUs(cluster, []);
    await removeModel(name);
  });

  it('waits for it, says so, and starts once it has recovered', async () => {
    await waitForCondition(name, 'GPUsAvailable', 'False');
    setUnhealthyGPUs(cluster, []);
    await waitForCondition(name, 'Ready', 'True');
    expect(readCondition(await readModel(name), 'GPUsAvailable')).to.include({ status: 'True' });
  });
});
