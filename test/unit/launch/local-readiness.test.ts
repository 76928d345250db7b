import { expect } from 'chai';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { waitForModel } from '../../../launch/local-readiness.ts';
import { readLocalTypes } from '../../../launch/local-resources.ts';

const MODELS = 'modeldeployments.berth.dev';
const AT = { namespace: 'default', name: 'own' };

describe('waiting for a model of one’s own', () => {
  let api: MemoryApi;
  let reported: string[];
  beforeEach(() => {
    api = new MemoryApi({ types: readLocalTypes() });
    reported = [];
    api.store.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    api.create(MODELS, {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: AT,
      spec: { kind: 'LLM', model: { id: 'own' }, engine: { preset: 'simulator' } },
    });
  });

  const setStatus = (phase: string, message: string, observedGeneration = 1) => {
    const ready = { type: 'Ready', status: phase === 'Ready' ? 'True' : 'False', reason: phase, message };
    const status = { phase, conditions: [{ ...ready, observedGeneration }] };
    api.store.put(MODELS, { ...api.get(MODELS, AT), status });
  };
  const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  it('reports each reason once, until it serves', async () => {
    const waiting = waitForModel(api, AT, (reason) => reported.push(reason));
    for (const message of ['loading weights', 'loading weights', 'warming up\nmore']) {
      setStatus('Starting', message);
      await settle();
    }
    setStatus('Ready', '1 of 1 replicas ready');
    await waiting;
    expect(reported).to.deep.equal(['loading weights', 'warming up']);
  });

  it('takes no verdict on a former spec', async () => {
    setStatus('Failed', 'engine exited', 0);
    const waiting = waitForModel(api, AT, () => {});
    await settle();
    setStatus('Ready', '1 of 1 replicas ready');
    await waiting;
  });

  it('throws with the reason why it failed', async () => {
    setStatus('Failed', 'engine exited with code 1');
    const error = await waitForModel(api, AT, () => {}).catch((failure: Error) => failure);
    expect(String(error)).to.include('own does not start: Failed: engine exited with code 1');
  });
});
