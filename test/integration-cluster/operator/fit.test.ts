import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createInternalServer } from '../../../gateway/storage/service/service.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { closeServer, listen, readServerPort } from '../../../kit/http-server.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { LLAMA_8B } from '../../unit/operator/fit/model-configs.ts';
import { useHarness } from './operator-harness.ts';

/** The operator with a front's own internal service, and a hub on loopback. */
describe('the condition Fits', () => {
  const harness = useHarness();
  let hub: Server;
  let front: Server;
  let egress: EgressAgent;
  let namespace: string;
  let asked: string[] = [];

  before(async () => {
    hub = createServer((req, res) => {
      asked.push(req.url!);
      if (req.url === '/meta/llama-8b/resolve/main/config.json') res.end(JSON.stringify(LLAMA_8B));
      else if (req.url === '/meta/llama-8b/resolve/main/model.safetensors.index.json')
        res.end('{"metadata": {"total_size": 16060522496}}');
      else res.writeHead(req.url!.startsWith('/meta/gated/') ? 401 : 404).end();
    });
    await listen(hub, 0, '127.0.0.1');
    egress = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });
    const unused = {} as never;
    front = createInternalServer({
      masterKey: 'master',
      urlSigner: unused,
      stores: unused,
      readCredential: unused,
      egress,
      log: createLog('silent'),
    });
    await listen(front, 0, '127.0.0.1');
    await harness.cluster.client.create(RESOURCES.Node, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'gpu-1',
        labels: { 'nvidia.com/gpu.memory': '24564', 'nvidia.com/gpu.product': 'l4' },
      },
    });
  });
  after(async () => {
    await egress.close();
    await Promise.all([front, hub].map((server) => closeServer(server, 100)));
  });
  beforeEach(async () => {
    asked = [];
    namespace = await harness.cluster.makeNamespace();
  });

  const start = (modelHub: string | undefined = `http://127.0.0.1:${readServerPort(hub)}`) =>
    harness.startOperator({
      settings: makeSettings({ storageURL: `http://127.0.0.1:${readServerPort(front)}`, modelHub }),
    });
  const create = (name: string, repo: string, more: object = {}) =>
    harness.cluster.createModel(namespace, name, {
      model: { id: name, source: { huggingFace: { repo } } },
      engine: { preset: 'vllm' },
      ...more,
    });
  const findFits = (name: string) => harness.cluster.condition(namespace, name, 'Fits');
  const waitFor = async (name: string, reason: string): Promise<Condition> => {
    await pollUntil(async () => (await findFits(name))?.reason === reason, `${name}: ${reason}`, 20_000);
    return (await findFits(name))!;
  };

  it('is by the config on the hub and the memory that the nodes tell, and follows the spec', async () => {
    const operator = start();
    await create('chat', 'meta/llama-8b');
    const { status, message } = await waitFor('chat', 'ContextTooLong');
    expect(status).to.equal('False');
    expect(message).to.match(
      /KV cache 16\.0 GiB for 1 × 131072 tokens .* exceed 24\.0 GiB × 0\.92; a context of \d+ would fit/,
    );
    await harness.cluster.change(namespace, 'chat', { engine: { args: ['--max-model-len=16384'] } });
    expect((await waitFor('chat', 'Fits')).status).to.equal('True');
    await harness.settle(operator);
    expect(asked).to.have.length(2);
    const listReasons = async () =>
      (await harness.cluster.list<KubeObject & { reason?: string }>(RESOURCES.Event, namespace)).map(
        ({ reason }) => reason,
      );
    await pollUntil(async () => (await listReasons()).includes('ContextTooLong'), 'the event', 20_000);
  });

  it('is unknown where the hub or the installation does not say, and absent without an engine on GPUs', async () => {
    const operator = start();
    await create('gated', 'meta/gated');
    await create('volume', '', { model: { id: 'm', source: { pvc: { claimName: 'weights' } } } });
    await create('simulated', '', { model: { id: 'm' }, engine: { preset: 'simulator' } });
    const engine = { preset: 'vllm', env: [{ name: 'HF_ENDPOINT', value: 'https://hub.example' }] };
    await create('mirrored', 'meta/llama-8b', { engine });
    await create('parent', '', {
      model: { id: 'm', source: { huggingFace: { repo: 'meta/llama-8b', revision: '..' } } },
      engine: { preset: 'vllm' },
    });
    expect(await waitFor('mirrored', 'SourceNotRead')).to.include({ status: 'Unknown' });
    expect(await waitFor('parent', 'ModelNotRead')).to.include({ status: 'Unknown' });
    expect(await waitFor('gated', 'ModelNotRead')).to.include({ status: 'Unknown' });
    expect(await waitFor('volume', 'SourceNotRead')).to.include({ status: 'Unknown' });
    await harness.settle(operator);
    expect(await findFits('simulated')).to.equal(undefined);
  });

  it('is looked up nowhere if the installation names no hub', async () => {
    harness.startOperator({ settings: makeSettings({ modelHub: undefined }) });
    await create('chat', 'meta/llama-8b');
    expect(await waitFor('chat', 'LookupDisabled')).to.include({ status: 'Unknown' });
    expect(asked).to.deep.equal([]);
  });
});
