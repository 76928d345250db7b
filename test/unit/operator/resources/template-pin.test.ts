import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../contract/names.ts';
import { build, makeModel } from './fixtures.ts';

const LATER = { version: '2.0.0', gatewayImage: 'berth/berth:2.0.0', engineImages: { vllm: 'vllm:new' } };

/** Builds with an operator, then again with a later one that finds the first's Deployment. */
function upgrade(before: object, after: object = before) {
  const first = build(before);
  const second = build(after, LATER, { deployment: first.deploymentObject as never });
  return { first, second, isKept: isSame(first.template, second.template) };
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

describe('an upgrade of the operator', () => {
  it('changes no pod, though its images and templates are new', () => {
    const { second, isKept } = upgrade({});
    expect(isKept).to.equal(true);
    expect(second.gateway.image).to.equal('berth/berth:1.0.0');
    expect(second.sidecarVersion).to.equal('1.0.0');
  });

  it('reaches the pods when the spec asks for other ones anyway', () => {
    const { second } = upgrade({}, { engine: { preset: 'vllm', args: ['--max-model-len=1024'] } });
    expect(second.gateway.image).to.equal('berth/berth:2.0.0');
    expect(second.engine.image).to.equal('vllm:new');
    expect(second.sidecarVersion).to.equal('2.0.0');
    expect(second.deploymentObject.metadata.annotations![ANNOTATIONS.sidecarVersion]).to.equal('2.0.0');
  });

  it('reaches the pods by the rollout field', () => {
    expect(upgrade({}, { rollout: { revision: '2' } }).second.sidecarVersion).to.equal('2.0.0');
  });
});

describe("a change of the installation's settings", () => {
  const later = (settings: object) => {
    const model = makeModel({ kind: 'Image', engine: { preset: 'sglang-diffusion' } });
    const first = build(model);
    const second = build(model, settings, { deployment: first.deploymentObject as never });
    return { isKept: isSame(first.template, second.template), stale: second.staleSettings };
  };
  const egress = { allow: ['10.0.0.0/8'], deny: [], plainHTTP: false };
  const changes: [string, object, string[]][] = [
    ['the address of Redis', { redisURL: 'redis://elsewhere:6379' }, ['the Redis address']],
    ['addresses that tenants may reach', { egress }, ['the egress rules']],
    [
      'all at once',
      { egress, storageURL: undefined, gatewayLogLevel: 'debug' },
      ['the egress rules', 'the storage address', "the gateway's log level"],
    ],
    [
      "the gateways' memory",
      { gatewayResources: { limits: { memory: '2Gi' } } },
      ["the gateway's resources"],
    ],
    [
      'the order of what gateways take',
      {
        gatewayResources: { limits: { memory: '1Gi' }, requests: { memory: '256Mi', cpu: '100m' } },
      },
      [],
    ],
    ['what no pod is told', { domain: 'other.example', allowedHosts: [], ingressClass: 'x' }, []],
    ['the version alone', LATER, []],
  ];
  for (const [name, settings, stale] of changes)
    it(`restarts nothing, and ${stale.length > 0 ? 'is noticed' : 'is nothing new'}: ${name}`, () =>
      expect(later(settings)).to.deep.equal({ isKept: true, stale }));

  it('is in the pods once they are rolled', () => {
    const first = build();
    const second = build(
      { rollout: { revision: '2' } },
      { redisURL: 'redis://elsewhere:6379' },
      {
        deployment: first.deploymentObject as never,
      },
    );
    expect(second.staleSettings).to.deep.equal([]);
  });
});

describe('a change of the spec', () => {
  const live: [string, object][] = [
    ['limits', { limits: { requestTimeout: '60s' } }],
    ['prices', { pricing: { perImage: '1' } }],
    ['concurrency', { concurrency: 5 }],
    ['pausing', { paused: true }],
    ['replicas', { replicas: 4 }],
    ['the route', { route: { host: 'llm.example.com' } }],
    ['surge', { rollout: { maxSurge: 1 } }],
    ['storage', { storage: { credential: 'mine' } }],
    [
      'the display name',
      { model: { id: 'qwen/qwen3', displayName: 'Q', source: { huggingFace: { repo: 'Qwen/Qwen3-8B' } } } },
    ],
    ['the stall time', { engine: { preset: 'vllm', stallTimeout: '20m' } }],
    ['a default that is written out', { engine: { preset: 'vllm', port: 8000, healthPath: '/health' } }],
  ];
  for (const [name, spec] of live)
    it(`restarts nothing: ${name}`, () => expect(upgrade({}, spec).isKept).to.equal(true));

  const rolling: [string, object][] = [
    ['the model id', { model: { id: 'other', source: { huggingFace: { repo: 'Qwen/Qwen3-8B' } } } }],
    ['the source', { model: { id: 'qwen/qwen3', source: { huggingFace: { repo: 'Qwen/Qwen3-4B' } } } }],
    ['the engine', { engine: { preset: 'sglang' } }],
    ['GPUs', { gpu: { count: 2 } }],
    ['the revision', { rollout: { revision: 'again' } }],
    ['resources', { resources: { requests: { cpu: 2 } } }],
    ['the drain time', { rollout: { drainTimeout: '9m' } }],
    ['the template', { template: { nodeSelector: { zone: 'a' } } }],
  ];
  for (const [name, spec] of rolling)
    it(`rolls the pods: ${name}`, () => expect(upgrade({}, spec).isKept).to.equal(false));

  it('back to what it was rolls back to the same pods', () => {
    const first = build();
    const second = build({ gpu: { count: 2 } }, {}, { deployment: first.deploymentObject as never });
    const third = build({}, {}, { deployment: second.deploymentObject as never });
    expect(third.template).to.deep.equal(first.template);
  });
});

describe('a remembered template', () => {
  it('that cannot be read is built anew', () => {
    const first = build();
    first.deploymentObject.metadata.annotations![ANNOTATIONS.template] = '{broken';
    const second = build({}, {}, { deployment: first.deploymentObject as never });
    expect(second.template).to.deep.equal(first.template);
  });
});
