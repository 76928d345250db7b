import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../api/names.ts';
import { describeCapacityNeed } from '../../../../operator/scaling/capacity-probes.ts';
import { build, makeModel } from './fixtures.ts';

const H100 = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'";
const gpu = { count: 2, deviceClass: 'gpu.nvidia.com', deviceSelectors: [H100] };
const templateOf = (spec: object) => build(spec).find('ResourceClaimTemplate');

describe('GPUs of a device class', () => {
  it('are claimed by a template, as many as the spec says', () => {
    const { apiVersion, metadata, spec } = templateOf({ gpu });
    expect(apiVersion).to.equal('resource.k8s.io/v1');
    expect(metadata).to.deep.include({ namespace: 'team-a' });
    expect(metadata.ownerReferences![0]!.kind).to.equal('ModelDeployment');
    expect(spec).to.deep.equal({
      spec: {
        devices: {
          requests: [
            {
              name: 'gpu',
              exactly: {
                deviceClassName: 'gpu.nvidia.com',
                allocationMode: 'ExactCount',
                count: 2,
                selectors: [{ cel: { expression: H100 } }],
              },
            },
          ],
        },
      },
    });
  });

  it('are the claim of the engine, beside those of spec.template, and no resource is requested', () => {
    const resourceClaims = [{ name: 'nic', resourceClaimTemplateName: 'nic' }];
    const { pod, engine } = build({ gpu, template: { resourceClaims } });
    const [own, other] = pod.resourceClaims!;
    expect(own).to.deep.equal({
      name: 'berth-gpus',
      resourceClaimTemplateName: templateOf({ gpu }).metadata.name,
    });
    expect(other).to.deep.equal(resourceClaims[0]);
    expect(engine.resources!.claims).to.deep.equal([{ name: 'berth-gpus' }, { name: 'nic' }]);
    expect(engine.resources!.limits ?? {}).not.to.have.any.keys('', 'nvidia.com/gpu');
    expect(engine.args).to.include('--tensor-parallel-size=2');
  });

  it('are those of the vendor in the name of the class', () => {
    const keysOf = (deviceClass: string) =>
      build({ gpu: { count: 1, deviceClass } }).pod.tolerations?.map(({ key }) => key);
    expect(keysOf('gpu.nvidia.com')).to.deep.equal(['nvidia.com/gpu']);
    expect(keysOf('gpu.amd.com')).to.deep.equal(['amd.com/gpu']);
    expect(keysOf('gpu.intel.com') ?? []).to.deep.equal([]);
    const problems = build({ gpu: { count: 1, deviceClass: 'gpu.intel.com' } }).problems;
    expect(problems[0]).to.include({ reason: 'AcceleratorNotSupported' });
    expect(problems[0]!.message).to.include('spec.gpu.deviceClass gpu.intel.com');
  });

  it('have another template in another spec, since one cannot be changed, and the pods are rolled', () => {
    const nameOf = (changed: object) => templateOf({ gpu: { ...gpu, ...changed } }).metadata.name;
    expect(nameOf({})).to.match(/^qwen-gpus-[0-9a-f]{8}$/);
    for (const changed of [{ count: 1 }, { deviceClass: 'mig.nvidia.com' }, { deviceSelectors: [] }])
      expect(nameOf(changed)).not.to.equal(nameOf({}));
    const inputsOf = (spec: object) =>
      build(spec).deploymentObject.metadata.annotations![ANNOTATIONS.templateInputs];
    expect(inputsOf({ gpu })).not.to.equal(inputsOf({ gpu: { count: 2 } }));
  });

  it('keep the name of their template, which pinned pods refer to', () =>
    expect(templateOf({ gpu }).metadata.name).to.equal('qwen-gpus-5b007324'));

  it('compete for capacity with those that ask for the same', () => {
    const needOf = (changed: object) => describeCapacityNeed(makeModel({ gpu: { ...gpu, ...changed } }).spec);
    expect(needOf({})).to.equal(needOf({}));
    expect(needOf({})).not.to.equal(needOf({ deviceSelectors: [] }));
  });

  it('are not claimed where there are none', () => {
    expect(build({ gpu: { count: 0, deviceClass: 'gpu.nvidia.com' } }).has('ResourceClaimTemplate')).to.equal(
      false,
    );
    expect(build().has('ResourceClaimTemplate')).to.equal(false);
  });
});
