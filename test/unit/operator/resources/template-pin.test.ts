import type { V1Deployment } from '@kubernetes/client-node';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../../api/gateway-environment.ts';
import { ANNOTATIONS } from '../../../../api/names.ts';
import type { KubeObject, Wire } from '../../../../kube/object.ts';
import { trimDeployment } from '../../../../operator/framework/cluster-view.ts';
import { build, makeModel } from './fixtures.ts';

const LATER = { version: '2.0.0', gatewayImage: 'berth/berth:2.0.0', engineImages: { vllm: 'vllm:new' } };

/** Builds with one version of the operator, then with a later one that finds the Deployment of the first. */
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
    ['where traces go', { gatewayTracing: { endpoint: 'http://c:4318', sampleRatio: 0.5 } }, ['the tracing']],
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
    ['resilience', { resilience: { continueStreams: true } }],
    ['objectives', { slo: { availability: 99.9, timeToFirstToken: { within: '800ms' } } }],
    ['pausing', { paused: true }],
    ['replicas', { replicas: 4 }],
    ['scaling', { scaling: { min: 0, max: 4, idleTimeout: '5m' } }],
    ['the route', { route: { host: 'llm.example.com' } }],
    ['surge', { rollout: { maxSurge: 1 } }],
    ['storage', { storage: { credential: 'mine' } }],
    [
      'the display name',
      { model: { id: 'qwen/qwen3', displayName: 'Q', source: { huggingFace: { repo: 'Qwen/Qwen3-8B' } } } },
    ],
    ['the stall time', { engine: { preset: 'vllm', stallTimeout: '20m' } }],
    ['the routes of the engine', { engine: { preset: 'vllm', routes: ['/v1/completions'] } }],
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
    ['the sleep of its engine', { scaling: { min: 0, max: 1, idle: 'Sleep' } }],
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
  it('that cannot be read is rebuilt', () => {
    const first = build();
    first.deploymentObject.metadata.annotations![ANNOTATIONS.template] = '{broken';
    const second = build({}, {}, { deployment: first.deploymentObject as never });
    expect(second.template).to.deep.equal(first.template);
  });

  it('takes less than half of the memory in the cache, and keeps the pods all the same', () => {
    const first = build();
    const live = first.deploymentObject as never as Wire<V1Deployment>;
    const cached = trimDeployment(live);
    const lengthOf = ({ metadata }: KubeObject) => metadata.annotations![ANNOTATIONS.template]!.length;
    expect(lengthOf(cached)).to.be.below(lengthOf(live) / 2);
    expect(build({}, LATER, { deployment: cached as never }).template).to.deep.equal(first.template);
    expect(trimDeployment(cached)).to.deep.equal(cached);
  });

  it('is stored as plain text, which every operator reads to which somebody rolls back', () => {
    const first = build();
    const cached = trimDeployment(first.deploymentObject as never);
    const second = build({}, LATER, { deployment: cached as never });
    expect(second.deploymentObject.metadata.annotations![ANNOTATIONS.template]).to.equal(
      JSON.stringify(first.template),
    );
  });

  it('is rebuilt if what somebody wrote there claims to be packed', () => {
    const first = build();
    first.deploymentObject.metadata.annotations![ANNOTATIONS.template] = 'packed:rubbish';
    const deployment = trimDeployment(first.deploymentObject as never) as never;
    expect(build({}, {}, { deployment }).template).to.deep.equal(first.template);
  });
});

describe('a sidecar that the installation rolls out', () => {
  const GRANT = { revision: 'r2', startedAt: Date.parse('2026-03-04T12:00:00.123Z') };
  const roll = (spec: object, first = build(spec), settings: object = LATER) => {
    const second = build(spec, settings, {
      deployment: first.deploymentObject as never,
      sidecarGrant: GRANT,
    });
    return { first, second, annotations: second.deploymentObject.metadata.annotations! };
  };

  it('is known to be outdated, whatever a version changed of it', () => {
    const first = build();
    const deployment = first.deploymentObject as never;
    expect(first.isSidecarOutdated).to.equal(false);
    expect(build({}, {}, { deployment }).isSidecarOutdated).to.equal(false);
    expect(build({}, LATER, { deployment }).isSidecarOutdated).to.equal(true);
    expect(build({}, { masterKey: 'another' }, { deployment }).isSidecarOutdated).to.equal(true);
    expect(build({}, { engineImages: { vllm: 'vllm:new' } }, { deployment }).isSidecarOutdated).to.equal(
      false,
    );
  });

  for (const kind of ['LLM', 'Image'] as const)
    it(`changes, and the engine of ${kind} runs as before: its image, arguments and environment`, () => {
      const spec = kind === 'LLM' ? {} : { kind, engine: { preset: 'sglang-diffusion' } };
      const { first, second, annotations } = roll(spec);
      expect(second.gateway.image).to.equal('berth/berth:2.0.0');
      expect(second.engine).to.deep.equal(first.engine);
      const { initContainers: _, ...rest } = second.pod;
      const { initContainers: __, ...before } = first.pod;
      expect(rest).to.deep.equal(before);
      expect(second.sidecarVersion).to.equal('2.0.0');
      expect(annotations[ANNOTATIONS.sidecarRevision]).to.equal('r2');
      expect(annotations[ANNOTATIONS.sidecarRolledAt]).to.equal('2026-03-04T12:00:00.123Z');
    });

  it("takes the drain hook's token along, which the sidecar checks", () => {
    const { first, second } = roll({}, build(), { masterKey: 'another' });
    const tokenOf = ({ engine }: typeof first) => engine.lifecycle!.preStop!.httpGet!.httpHeaders![0]!.value;
    expect(tokenOf(second)).to.not.equal(tokenOf(first));
    expect(second.gateway.env).to.deep.include({ name: GATEWAY_ENV.drainToken, value: tokenOf(second) });
  });

  it('can be pulled with the secrets of both registries', () => {
    const first = build({}, { imagePullSecrets: ['old'] });
    const { second } = roll({}, first, { ...LATER, imagePullSecrets: ['new'] });
    expect(second.pod.imagePullSecrets).to.deep.equal([{ name: 'old' }, { name: 'new' }]);
  });

  it('stays as it is when its turn is over, and is not outdated any more', () => {
    const { second } = roll({});
    const third = build({}, LATER, { deployment: second.deploymentObject as never });
    expect(third.deploymentObject).to.deep.equal(second.deploymentObject);
    expect(third.isSidecarOutdated).to.equal(false);
    const repeated = roll({}, second).second;
    expect(repeated.deploymentObject).to.deep.equal(second.deploymentObject);
  });

  it('is no more of its making once the spec asks for other pods', () => {
    const { second } = roll({});
    const third = build({ gpu: { count: 2 } }, LATER, {
      deployment: second.deploymentObject as never,
      sidecarGrant: GRANT,
    });
    expect(third.engine.image).to.equal('vllm:new');
    expect(third.deploymentObject.metadata.annotations).to.not.have.any.keys(
      ANNOTATIONS.sidecarRevision,
      ANNOTATIONS.sidecarRolledAt,
    );
  });
});

describe('a pod template', () => {
  const build256 = (kib: number) =>
    build({ engine: { preset: 'vllm', env: [{ name: 'TEXT', value: 'x'.repeat(kib * 1024) }] } });

  it('that an annotation cannot keep is refused, with what helps', () => {
    const [problem, ...others] = build256(256).problems;
    expect(others).to.deep.equal([]);
    expect(problem!.reason).to.equal('PodTemplateTooLarge');
    expect(problem!.message).to.match(
      /^the pod template has 2\d\d KiB of JSON, and may have 250: .*ConfigMap, and mount it by spec\.template\.volumes$/,
    );
  });

  it('may have long texts', () => {
    expect(build256(240).problems).to.deep.equal([]);
  });
});
