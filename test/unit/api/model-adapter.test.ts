import { expect } from 'chai';
import { adapterPort } from '../../../api/model-adapter.ts';
import { modelDeployment } from '../../../api/model-deployment.ts';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { readLocalTypes, validateObject } from '../../../launch/local-resources.ts';

const ADAPTER = {
  kind: 'LLM',
  model: {
    id: 'acme/sql',
    source: { huggingFace: { repo: 'acme/sql-lora' } },
  },
  adapterOf: { deployment: 'chat' },
};
const describeObject = (spec: object) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: 'sql', namespace: 'team-a' },
  spec,
});

describe('an adapter in the API', () => {
  let api: MemoryApi;
  const create = (spec: object) => () => api.create('modeldeployments.berth.dev', describeObject(spec));
  beforeEach(() => {
    api = new MemoryApi({ types: readLocalTypes(), validate: validateObject });
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } });
  });

  it('needs no engine, and others do', () => {
    expect(create({ kind: 'LLM', model: { id: 'qwen' } })).to.throw(
      'engine is required, except for an adapter',
    );
    expect(create(ADAPTER)).not.to.throw();
  });

  for (const [field, value] of Object.entries({
    engine: { preset: 'vllm' },
    gpu: { count: 1 },
    resources: {},
    replicas: 2,
    scaling: { min: 1, max: 2 },
    concurrency: 4,
  }))
    it(`has no ${field}, which is for pods`, () => {
      expect(create({ ...ADAPTER, [field]: value })).to.throw('served by the pods of its base');
    });

  it('stays what it is: its base never changes', () => {
    const made = create(ADAPTER)();
    const update = (spec: object) => () => api.update('modeldeployments.berth.dev', { ...made, spec });
    expect(update({ ...ADAPTER, adapterOf: { deployment: 'other' } })).to.throw(
      'adapterOf.deployment is immutable',
    );
    const { adapterOf: _, ...plain } = ADAPTER;
    expect(update({ ...plain, engine: { preset: 'vllm' } })).to.throw('adapterOf is immutable');
    const source = { huggingFace: { repo: 'acme/sql-lora-2' } };
    expect(update({ ...ADAPTER, model: { ...ADAPTER.model, source } })).not.to.throw();
  });

  it('is a language model, whose source is downloaded into the claim of its base', () => {
    expect(create({ ...ADAPTER, kind: 'Embedding' })).to.throw('adapterOf is allowed with kind LLM only');
    const { huggingFace } = ADAPTER.model.source;
    const cache = { claimName: 'models' };
    for (const source of [
      undefined,
      { none: {} },
      { huggingFace, cache },
      { huggingFace: { ...huggingFace, cache } },
    ])
      expect(create({ ...ADAPTER, model: { id: 'sql', source } })).to.throw(
        'needs huggingFace or s3, without a cache',
      );
  });

  it('needs a base that says what room its engine has, with vllm', () => {
    const base = (preset: string, adapters: object) => ({
      kind: 'LLM',
      model: { id: 'qwen' },
      engine: { preset, adapters },
    });
    expect(create(base('sglang', { claimName: 'models' }))).to.throw(
      'engine.adapters is allowed with preset vllm only',
    );
    expect(create(base('vllm', { claimName: 'models', max: 65 }))).to.throw('max');
    expect(create(base('vllm', {}))).to.throw('claimName');
    expect(create(base('vllm', { claimName: 'models' }))).not.to.throw();
  });

  it('is read with an engine that nothing is started with', () => {
    expect(modelDeployment.parse(describeObject(ADAPTER)).spec.engine.preset).to.equal('custom');
  });

  it('has the same port for ever, apart from those of Berth and of engines', () => {
    expect(adapterPort('sql')).to.equal(adapterPort('sql'));
    const ports = Array.from({ length: 1_000 }, (_, index) => adapterPort(`sql-${index}`));
    expect(Math.min(...ports)).to.be.at.least(20_000);
    // PyTorch and vLLM use 29500 and 29550.
    expect(Math.max(...ports)).to.be.below(29_000);
  });
});
