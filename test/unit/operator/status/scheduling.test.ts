import { expect } from 'chai';
import { describeRefusal } from '../../../../operator/status/scheduling.ts';

describe("the scheduler's words", () => {
  const table: [given: string, expected: { gpus: boolean; message: string }][] = [
    [
      '0/1 nodes are available: persistentvolumeclaim "weights" not found. not found',
      { gpus: false, message: 'persistentvolumeclaim "weights" not found on 1 (0 of 1 nodes fit)' },
    ],
    [
      '0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.',
      { gpus: true, message: 'Insufficient nvidia.com/gpu (0 of 4 nodes fit)' },
    ],
    [
      '0/4 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 3 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.',
      {
        gpus: true,
        message:
          'Insufficient nvidia.com/gpu (0 of 4 nodes fit); also node(s) had untolerated taint {node-role.kubernetes.io/control-plane: } on 1',
      },
    ],
    [
      '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.',
      { gpus: false, message: 'Insufficient cpu on 1, Insufficient memory on 1 (0 of 1 nodes fit)' },
    ],
    [
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
      { gpus: false, message: "node(s) didn't match Pod's node affinity/selector on 2 (0 of 2 nodes fit)" },
    ],
    [
      '0/3 nodes are available: persistentvolumeclaim "weights" not found. preemption: none',
      { gpus: false, message: 'persistentvolumeclaim "weights" not found on 3 (0 of 3 nodes fit)' },
    ],
    [
      'no nodes available to schedule pods',
      { gpus: false, message: 'the cluster has no nodes (0 of 0 nodes fit)' },
    ],
    ['something new', { gpus: false, message: 'something new' }],
  ];
  for (const [given, expected] of table) {
    it(`reports "${expected.message}"`, () => {
      expect(describeRefusal(given, { gpuResource: 'nvidia.com/gpu' })).to.deep.equal(expected);
    });
  }

  it('knows a MIG slice by its own resource name', () => {
    const text = '0/2 nodes are available: 2 Insufficient nvidia.com/mig-1g.10gb.';
    expect(describeRefusal(text, { gpuResource: 'nvidia.com/mig-1g.10gb' }).gpus).to.equal(true);
    expect(describeRefusal(text, { gpuResource: 'nvidia.com/gpu' }).gpus).to.equal(false);
  });

  describe('about claims of devices', () => {
    const claims = { gpuResource: '', hasClaims: true };
    const full =
      "0/2 nodes are available: 1 cannot allocate all claims, 1 node(s) didn't match Pod's node affinity/selector. still not schedulable, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";

    it('say that GPUs are missing', () => {
      expect(describeRefusal(full, claims)).to.deep.equal({
        gpus: true,
        message:
          "cannot allocate all claims (0 of 2 nodes fit); also node(s) didn't match Pod's node affinity/selector on 1",
      });
      expect(describeRefusal(full, { gpuResource: 'nvidia.com/gpu' }).gpus).to.equal(false);
    });

    it('name a device class that does not exist', () => {
      const missing =
        '0/1 nodes are available: request gpu: device class no-such-class does not exist. still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.';
      expect(describeRefusal(missing, claims)).to.deep.equal({
        gpus: true,
        message: 'request gpu: device class no-such-class does not exist',
        reason: 'DeviceClassNotFound',
      });
    });
  });
});
