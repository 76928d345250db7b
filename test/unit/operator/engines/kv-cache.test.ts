import { expect } from 'chai';
import { build, variable } from '../resources/fixtures.ts';

const SOURCE = { huggingFace: { repo: 'org/model' } };
const specOf = (engine: object, more: object = {}) => ({
  kind: 'LLM',
  model: { id: 'org/model', source: SOURCE },
  engine,
  gpu: { count: 2 },
  ...more,
});
const CPU = { kvCache: { cpu: '40Gi' } };
const BOTH = { kvCache: { cpu: '40Gi', disk: '200Gi' } };
const CLAIMED = {
  gpu: { count: 0 },
  template: { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }] },
};
const amountsOf = (spec: object) => build(spec).engine.resources!;
const problemsOf = (engine: object, more?: object) =>
  build(specOf(engine, more)).problems.map(({ reason, message }) => `${reason}: ${message}`);

describe('a KV cache beyond the GPU', () => {
  it('is offloaded by vLLM to shared memory, which has room for it', () => {
    const { engine, pod, problems } = build(specOf({ preset: 'vllm', ...CPU }));
    expect(problems).to.deep.equal([]);
    expect(engine.args).to.include.members(['--kv-offloading-size=40', '--kv-offloading-backend=native']);
    const shared = pod.volumes!.find(({ name }) => name === 'shared-memory')!;
    expect(shared.emptyDir!.sizeLimit).to.equal(`${48 * 1024}Mi`);
  });

  it('is kept by each process of SGLang in its share, on a volume of the pod’s own', () => {
    const { engine, pod, problems } = build(specOf({ preset: 'sglang', ...BOTH }));
    expect(problems).to.deep.equal([]);
    expect(engine.args).to.include.members([
      '--enable-hierarchical-cache',
      '--hicache-size=21',
      '--hicache-storage-backend=file',
      '--page-size=64',
    ]);
    const folder = variable(engine, 'SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR')!.value;
    const { name } = engine.volumeMounts!.find(({ mountPath }) => mountPath === folder)!;
    const volume = pod.volumes!.find((each) => each.name === name);
    expect(volume).to.deep.equal({ name, emptyDir: { sizeLimit: '200Gi' } });
    const cap = Number(variable(engine, 'SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE')!.value);
    // Both processes together evict before the kubelet would.
    expect(cap * 2).to.be.within(179 * 1024 ** 3, 181 * 1024 ** 3);
    const shared = pod.volumes!.find((each) => each.name === 'shared-memory')!;
    expect(shared.emptyDir!.sizeLimit).to.equal('8Gi');
  });

  it('is added to the requests of the preset, and to no limit where there is none', () => {
    const { requests, limits } = amountsOf(specOf({ preset: 'sglang', ...BOTH }));
    expect(requests).to.deep.equal({
      cpu: '1',
      memory: `${44 * 1024}Mi`,
      'ephemeral-storage': `${200 * 1024}Mi`,
    });
    expect(limits).to.deep.equal({ 'nvidia.com/gpu': '2' });
  });

  it('is added to the requests and limits of the spec, which are those beside it', () => {
    const resources = {
      requests: { memory: '16Gi', 'ephemeral-storage': '10Gi' },
      limits: { memory: '64Gi', 'ephemeral-storage': '20Gi' },
    };
    const { requests, limits } = amountsOf(specOf({ preset: 'sglang', ...BOTH }, { resources }));
    expect(requests).to.include({
      memory: `${56 * 1024}Mi`,
      'ephemeral-storage': `${210 * 1024}Mi`,
    });
    // SGLang wants 10Gi of a limit beside its cache.
    expect(limits).to.include({ memory: `${114 * 1024}Mi`, 'ephemeral-storage': `${220 * 1024}Mi` });
    const ofVLLM = amountsOf(specOf({ preset: 'vllm', ...CPU }, { resources }));
    expect(ofVLLM.limits).to.include({ memory: `${104 * 1024}Mi` });
  });

  it('is that of the GPUs of a claim, which vLLM counts itself', () => {
    const { engine, problems } = build(specOf({ preset: 'vllm', ...CPU }, CLAIMED));
    expect(problems).to.deep.equal([]);
    expect(engine.args).to.include('--kv-offloading-size=40');
  });

  it('is of a size that has its unit', () => {
    for (const kvCache of [{ cpu: '40' }, { cpu: '0' }, { cpu: '40Gi', disk: '0' }])
      expect(() => build(specOf({ preset: 'sglang', kvCache })), JSON.stringify(kvCache)).to.throw(
        /must be from 1Gi/,
      );
  });

  it('is absent unless it is asked for', () => {
    for (const preset of ['vllm', 'sglang']) {
      const { engine, pod } = build(specOf({ preset }));
      expect(engine.args!.join(' ')).to.not.match(/hicache|hierarchical|kv-offloading/);
      expect(pod.volumes!.map(({ name }) => name)).to.not.include('kv-cache');
      expect(engine.resources!.requests).to.deep.equal({ cpu: '1', memory: '4Gi' });
    }
  });

  const refused: [why: string, engine: object, more: object, message: RegExp][] = [
    ['an engine without one', { preset: 'llama-cpp', ...CPU }, {}, /only vllm and sglang .* not llama-cpp/],
    ['the disk of vLLM', { preset: 'vllm', ...BOTH }, {}, /kvCache\.disk: vllm never removes/],
    ['a vLLM that leaves it behind', { preset: 'vllm', version: '0.28.0', ...CPU }, {}, /0\.30 or later/],
    ['another kind', { preset: 'vllm', ...CPU }, { kind: 'Embedding' }, /of kind Embedding/],
    ['no GPU', { preset: 'vllm', ...CPU }, { gpu: { count: 0 } }, /needs a GPU/],
    ['unknown GPUs', { preset: 'sglang', ...CPU }, CLAIMED, /whose number template\.resourceClaims does not/],
    ['too little', { preset: 'sglang', kvCache: { cpu: '1Gi' } }, {}, /less than 1 GB for each of 2 GPUs/],
  ];
  for (const [why, engine, more, message] of refused)
    it(`is refused for ${why}`, () => {
      const found = problemsOf(engine, more).filter((each) => each.startsWith('KVCacheNotSupported'));
      expect(found).to.have.length(1);
      expect(found[0]).to.match(message);
    });
});
