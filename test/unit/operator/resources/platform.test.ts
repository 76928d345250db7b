import { expect } from 'chai';
import { build, variable } from './fixtures.ts';

const SOURCES = {
  s3: { s3: { uri: 's3://models/a' } },
  image: { image: { reference: 'w:1', mode: 'Copy', path: 'w' } },
  none: { none: {} },
};

describe('on OpenShift', () => {
  for (const preset of ['vllm', 'simulator'])
    for (const [what, source] of Object.entries(SOURCES))
      it(`no pod names a user or a group, which are the namespace's: ${preset}, ${what}`, () => {
        const spec = { model: { id: 'm', source }, engine: { preset } };
        const users = /runAsUser|runAsGroup|fsGroup/;
        const { pod } = build(spec, { platform: 'openshift' });
        expect(JSON.stringify(pod)).not.to.match(users);
        for (const { securityContext } of [...pod.initContainers!, ...pod.containers])
          expect(securityContext).to.deep.include({
            runAsNonRoot: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          });
        expect(JSON.stringify(build(spec).pod)).to.match(users);
      });

  it('a spec may still name them', () => {
    const { engine } = build({ template: { securityContext: { runAsUser: 7 } } }, { platform: 'openshift' });
    expect(engine.securityContext!.runAsUser).to.equal(7);
  });
});

describe("an engine's metrics", () => {
  it('are relayed where the preset has them, on pods that say so', () => {
    for (const preset of ['vllm', 'sglang', 'llama-cpp', 'simulator']) {
      const { gateway, template } = build({ engine: { preset } });
      expect(variable(gateway, 'GATEWAY_ENGINE_METRICS_PATH')!.value, preset).to.equal('/metrics');
      expect(template.metadata!.labels).to.include({ 'berth.dev/engine-metrics': 'true' });
    }
    expect(build({ engine: { preset: 'sglang' } }).engine.args).to.include('--enable-metrics');
    expect(build({ engine: { preset: 'llama-cpp' } }).engine.args).to.include('--metrics');
  });

  it('are none of an engine that nobody knows', () => {
    const { gateway, template } = build({ engine: { preset: 'custom', image: 'own:1' } });
    expect(variable(gateway, 'GATEWAY_ENGINE_METRICS_PATH')).to.equal(undefined);
    expect(template.metadata!.labels).not.to.have.property('berth.dev/engine-metrics');
  });
});

describe('what is asked of a node', () => {
  it('is enough to start, where the spec says nothing', () => {
    expect(build().engine.resources!.requests).to.deep.equal({ cpu: '1', memory: '4Gi' });
    expect(build({ engine: { preset: 'simulator' } }).engine.resources).to.deep.equal({
      requests: { cpu: '10m', memory: '64Mi' },
    });
  });

  it('is what the spec says, or its limit', () => {
    const resources = { requests: { cpu: '8' }, limits: { memory: '1Gi' } };
    expect(build({ resources }).engine.resources).to.deep.equal({
      requests: { cpu: '8' },
      limits: { memory: '1Gi', 'nvidia.com/gpu': '1' },
    });
  });

  it('can be claims of devices, which the engine gets', () => {
    const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'h100' }];
    const { pod, engine } = build({ gpu: { count: 0 }, template: { resourceClaims } });
    expect(pod.resourceClaims).to.deep.equal(resourceClaims);
    expect(engine.resources!.claims).to.deep.equal([{ name: 'gpu' }]);
    const small = { engine: { preset: 'llama-cpp' }, template: { resourceClaims } };
    expect(build(small).engine.image, 'no image for CPUs alone').to.include(':server-cuda-');
  });

  it('is asked of the scheduler that the spec names', () => {
    expect(build({ template: { schedulerName: 'volcano' } }).pod.schedulerName).to.equal('volcano');
    expect(build().pod).not.to.have.property('schedulerName');
  });
});

describe('a drain', () => {
  it('may take a day, for which a node waits, and no longer', () => {
    expect(build({ rollout: { drainTimeout: '24h' } }).problems).to.deep.equal([]);
    const [problem] = build({ rollout: { drainTimeout: '100h' } }).problems;
    expect(problem!.reason).to.equal('DrainTimeoutTooLong');
    expect(problem!.message).to.include('at most 24h');
  });
});

describe('weights of S3 by the identity of the pod', () => {
  const model = (s3: object) => ({ model: { id: 'm', source: { s3: { uri: 's3://models/a', ...s3 } } } });

  it("are copied with the service account's, never with the node's", () => {
    const { pod, problems } = build({
      ...model({ workloadIdentity: true }),
      template: { serviceAccountName: 'models' },
    });
    expect(problems).to.deep.equal([]);
    const copy = pod.initContainers![1]!;
    expect(variable(copy, 'RCLONE_S3_ENV_AUTH')!.value).to.equal('true');
    expect(variable(copy, 'AWS_EC2_METADATA_DISABLED')!.value).to.equal('true');
    expect(variable(build(model({})).pod.initContainers![1]!, 'RCLONE_S3_ENV_AUTH')).to.equal(undefined);
  });

  it('need an account that has one', () => {
    const [problem] = build(model({ workloadIdentity: true })).problems;
    expect(problem!.message).to.include('spec.template.serviceAccountName');
  });
});
