import { expect } from 'chai';
import { findCondition } from '../../../../operator/status/condition-list.ts';
import {
  deriveRefusal,
  deriveStatus,
  type StatusFacts,
} from '../../../../operator/status/model-deployment.ts';
import { at, makeDeployment, makeFacts, makeModel, makePod, NOW } from './pod-fixtures.ts';

const EVICTED = makePod({
  ready: true,
  deleting: at(3),
  eviction: { type: 'TerminationTarget', reason: 'WorkloadEvictedDueToPreempted' },
});
const GPU_REFUSAL = '0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: nothing helps.';

interface Row {
  name: string;
  spec?: object;
  metadata?: object;
  facts: Partial<StatusFacts>;
  phase: string;
  /** Ready's reason and message. */
  reason: string;
  message: string | RegExp;
  /** Another condition that shows the same. */
  condition?: { type: string; status: string; reason?: string; message?: string };
}

const table: Row[] = [
  {
    name: 'a ready replica',
    facts: { pods: [makePod({ ready: true })] },
    phase: 'Ready',
    reason: 'Ready',
    message: '1 of 1 replicas ready',
    condition: { type: 'EngineHealthy', status: 'True' },
  },
  {
    name: 'an engine that serves without the parsers that were guessed for it',
    facts: {
      pods: [makePod({ ready: true })],
      isWithoutParsers: true,
      engineStatus: { message: 'the parsers do not fit' },
    },
    phase: 'Ready',
    reason: 'Ready',
    message: '1 of 1 replicas ready',
    condition: {
      type: 'EngineHealthy',
      status: 'True',
      reason: 'StartedWithoutParsers',
      message: 'the parsers do not fit',
    },
  },
  {
    name: 'too few GPUs',
    facts: { pods: [makePod({ unscheduled: GPU_REFUSAL })] },
    phase: 'Pending',
    reason: 'InsufficientGPUs',
    message: 'Insufficient nvidia.com/gpu (0 of 4 nodes fit)',
    condition: { type: 'GPUsAvailable', status: 'False' },
  },
  {
    name: 'GPUs that a draining sibling still holds',
    facts: { pods: [makePod({ unscheduled: GPU_REFUSAL }), makePod({ ready: true, deleting: at(28.2) })] },
    phase: 'Pending',
    reason: 'WaitingForDrain',
    message: 'waiting for 1 pod to drain and free GPUs (by 2026-01-01T12:28:12Z)',
    condition: { type: 'GPUsAvailable', status: 'False' },
  },
  {
    name: 'devices that are all claimed by others',
    spec: { gpu: { count: 0 }, template: { resourceClaims: [{ name: 'gpu' }] } },
    facts: {
      gpuResource: '',
      pods: [makePod({ unscheduled: '0/2 nodes are available: 2 cannot allocate all claims.' })],
    },
    phase: 'Pending',
    reason: 'InsufficientGPUs',
    message: 'cannot allocate all claims (0 of 2 nodes fit)',
    condition: { type: 'GPUsAvailable', status: 'False' },
  },
  {
    name: 'GPUs that an evicted pod of another deployment still holds',
    facts: { pods: [makePod({ unscheduled: GPU_REFUSAL, queue: 'gpus' })], draining: [EVICTED] },
    phase: 'Pending',
    reason: 'WaitingForDrain',
    message: 'waiting for 1 pod to drain and free GPUs (by 2026-01-01T12:03:00Z)',
    condition: { type: 'GPUsAvailable', status: 'False' },
  },
  {
    name: 'a device class that does not exist',
    spec: { gpu: { count: 0 }, template: { resourceClaims: [{ name: 'gpu' }] } },
    facts: {
      gpuResource: '',
      pods: [
        makePod({ unscheduled: '0/1 nodes are available: request gpu: device class h100 does not exist.' }),
      ],
    },
    phase: 'Pending',
    reason: 'DeviceClassNotFound',
    message: 'request gpu: device class h100 does not exist',
    condition: { type: 'GPUsAvailable', status: 'False' },
  },
  {
    name: 'a pod that no node takes for another reason',
    facts: { pods: [makePod({ unscheduled: '0/1 nodes are available: 1 Insufficient cpu.' })] },
    phase: 'Pending',
    reason: 'Unschedulable',
    message: 'Insufficient cpu on 1 (0 of 1 nodes fit)',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: 'a pod that another controller holds back',
    facts: { pods: [makePod({ gates: ['example.com/approval'] })] },
    phase: 'Pending',
    reason: 'SchedulingGated',
    message:
      'waiting for admission: the controller of the scheduling gate example.com/approval has not released the pod',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: "a pod for which Kueue's queue has no quota",
    facts: {
      pods: [makePod({ queue: 'gpus', gates: ['kueue.x-k8s.io/admission', 'kueue.x-k8s.io/topology'] })],
      quotaReason: 'insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed',
    },
    phase: 'Pending',
    reason: 'WaitingForQuota',
    message:
      'waiting for quota of queue gpus: insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: 'a pod that Kueue holds back for a reason that cannot be read',
    facts: { pods: [makePod({ gates: ['kueue.x-k8s.io/admission'] })] },
    phase: 'Pending',
    reason: 'WaitingForQuota',
    message: 'waiting for quota: scheduling gate kueue.x-k8s.io/admission',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: 'a pod without quota beside one that has it',
    facts: {
      pods: [makePod({ gates: ['kueue.x-k8s.io/admission'], queue: 'gpus' }), makePod({ silent: true })],
      desiredReplicas: 2,
    },
    phase: 'Starting',
    reason: 'WaitingForQuota',
    message: 'waiting for quota of queue gpus: scheduling gate kueue.x-k8s.io/admission',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: 'an image that cannot be pulled',
    facts: {
      pods: [makePod({ engine: { state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } } })],
    },
    phase: 'Failed',
    reason: 'ErrImagePull',
    message: 'engine image registry.example/vllm:1 cannot be pulled: not found',
    condition: { type: 'ImagePulled', status: 'False' },
  },
  {
    name: 'images and volumes that take their time, and since when',
    facts: {
      pods: [makePod({ engine: { imageID: '', state: { waiting: { reason: 'ContainerCreating' } } } })],
    },
    phase: 'Starting',
    reason: 'Pulling',
    message: 'pulling images and mounting volumes since 2026-01-01T11:50:00Z',
    condition: { type: 'ImagePulled', status: 'Unknown' },
  },
  {
    name: 'a crash loop with its cause',
    facts: {
      pods: [
        makePod({
          engine: {
            restartCount: 5,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 1, reason: 'Error', message: 'CUDA error: no device\n' } },
          },
        }),
      ],
    },
    phase: 'Failed',
    reason: 'CrashLoopBackOff',
    message: 'engine exited with code 1, 5 restarts: CUDA error: no device',
    condition: { type: 'EngineHealthy', status: 'False' },
  },
  {
    name: 'an engine killed for want of memory that runs again',
    facts: {
      pods: [
        makePod({
          engine: {
            restartCount: 1,
            state: { running: { startedAt: at(-1) } },
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          },
        }),
      ],
    },
    phase: 'Failed',
    reason: 'EngineCrashed',
    message: 'engine exited with code 137 (OOMKilled), 1 restart',
  },
  {
    name: 'an engine whose Secret is missing',
    facts: {
      pods: [
        makePod({
          engine: {
            state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "hf" not found' } },
          },
        }),
      ],
    },
    phase: 'Failed',
    reason: 'CreateContainerConfigError',
    message: 'engine could not be started: secret "hf" not found',
  },
  {
    name: 'a failed init container by its name',
    facts: {
      pods: [
        makePod({
          init: {
            restartCount: 2,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 2, message: 'access denied' } },
          },
        }),
      ],
    },
    phase: 'Failed',
    reason: 'InitContainerFailed',
    message: 'init container weights exited with code 2, 2 restarts: access denied',
    condition: { type: 'WeightsLoaded', status: 'False' },
  },
  {
    name: 'weights that are being fetched, and since when',
    facts: { pods: [makePod({ init: { state: { running: { startedAt: at(-9) } } } })] },
    phase: 'Starting',
    reason: 'Loading',
    message: 'init container weights has not completed since 2026-01-01T11:50:00Z',
    condition: { type: 'WeightsLoaded', status: 'False' },
  },
  {
    name: 'weights that the engine fetches itself, until it has been healthy once',
    facts: {
      engineDownloads: true,
      pods: [makePod({ engine: { started: false, state: { running: { startedAt: at(-4) } } } })],
    },
    phase: 'Starting',
    reason: 'Starting',
    message: 'the engine has been starting since 2026-01-01T11:56:00Z (limit 30 min)',
    condition: { type: 'WeightsLoaded', status: 'Unknown' },
  },
  {
    name: 'weights whose init container no kubelet has told of yet',
    facts: { pods: [makePod({ silent: true, inits: ['gateway', 'fetch-weights'] })] },
    phase: 'Starting',
    reason: 'Loading',
    message: 'init container fetch-weights has not completed since 2026-01-01T11:50:00Z',
    condition: { type: 'WeightsLoaded', status: 'False' },
  },
  {
    name: 'an engine that starts beside the sidecar of a mesh, which never ends',
    facts: {
      pods: [
        makePod({
          inits: ['istio-proxy', 'gateway'],
          engine: { state: { running: { startedAt: at(-4) } } },
        }),
      ],
    },
    phase: 'Starting',
    reason: 'Starting',
    message: 'the engine has been starting since 2026-01-01T11:56:00Z (limit 30 min)',
    condition: { type: 'WeightsLoaded', status: 'True' },
  },
  {
    name: 'an engine that starts, and since when',
    facts: { pods: [makePod({ engine: { state: { running: { startedAt: at(-4) } } } })] },
    phase: 'Starting',
    reason: 'Starting',
    message: 'the engine has been starting since 2026-01-01T11:56:00Z (limit 30 min)',
    condition: { type: 'EngineHealthy', status: 'False' },
  },
  {
    name: 'an engine whose startup probe has just succeeded, before its pod is ready',
    facts: {
      pods: [
        makePod({
          engine: { started: true, state: { running: { startedAt: at(-4) } } },
          readyChangedAt: at(-5),
        }),
      ],
    },
    phase: 'Starting',
    reason: 'Starting',
    message: 'the engine has been starting since 2026-01-01T11:56:00Z (limit 30 min)',
    condition: { type: 'EngineHealthy', status: 'False' },
  },
  {
    name: 'an engine that served and does not answer any more, and since when',
    facts: {
      pods: [
        makePod({
          engine: { started: true, state: { running: { startedAt: at(-35) } } },
          readyChangedAt: at(-5),
        }),
      ],
    },
    phase: 'Unhealthy',
    reason: 'EngineUnhealthy',
    message: 'the engine was healthy before and has been unhealthy since 2026-01-01T11:55:00Z',
    condition: { type: 'EngineHealthy', status: 'False' },
  },
  {
    name: 'a gateway that crashes',
    facts: {
      pods: [
        makePod({
          gateway: {
            started: false,
            restartCount: 3,
            lastState: { terminated: { exitCode: 9, message: 'boom' } },
          },
        }),
      ],
    },
    phase: 'Failed',
    reason: 'GatewayCrashed',
    message: 'gateway exited with code 9, 3 restarts; last log: boom',
  },
  {
    name: 'an evicted pod',
    facts: { pods: [makePod({ phase: 'Failed', reason: 'Evicted' })] },
    phase: 'Failed',
    reason: 'Evicted',
    message: 'the pod failed',
  },
  {
    name: 'pods that quota or PodSecurity refuses',
    facts: {
      deployment: makeDeployment({
        conditions: [
          { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: gpus' },
        ],
      }),
    },
    phase: 'Failed',
    reason: 'ReplicaFailure',
    message: 'exceeded quota: gpus',
    condition: { type: 'Progressing', status: 'False' },
  },
  {
    name: 'no pod yet',
    facts: {},
    phase: 'Starting',
    reason: 'Starting',
    message: 'waiting for the first pod',
    condition: { type: 'GPUsAvailable', status: 'Unknown' },
  },
  {
    name: 'a pause',
    spec: { paused: true },
    facts: { desiredReplicas: 0 },
    phase: 'Paused',
    reason: 'Paused',
    message: 'spec.paused is true',
    condition: { type: 'Available', status: 'False' },
  },
  {
    name: 'no replica wanted',
    spec: { replicas: 0 },
    facts: { desiredReplicas: 0 },
    phase: 'ScaledToZero',
    reason: 'ScaledToZero',
    message: 'scaled to zero replicas',
    condition: { type: 'Available', status: 'False' },
  },
  {
    name: 'a pause of a deployment without a route',
    spec: { paused: true },
    facts: { desiredReplicas: 0, unpublished: 'Redis is away: refused' },
    phase: 'Paused',
    reason: 'Paused',
    message: 'spec.paused is true',
    condition: { type: 'RouteReady', status: 'Unknown' },
  },
  {
    name: 'that no request could wake it from zero',
    spec: { scaling: { min: 0, max: 2 } },
    facts: { desiredReplicas: 0, unpublished: 'Redis is away: refused' },
    phase: 'Unrouted',
    reason: 'NotPublished',
    message: 'Redis is away: refused',
  },
  {
    name: 'a start from zero',
    spec: { scaling: { min: 0, max: 2 } },
    facts: { pods: [makePod({ engine: { state: { running: { startedAt: at(-4) } } } })] },
    phase: 'Starting',
    reason: 'Starting',
    message: 'the engine has been starting since 2026-01-01T11:56:00Z (limit 30 min)',
    condition: { type: 'Available', status: 'False' },
  },
  {
    name: 'a deletion',
    metadata: { deletionTimestamp: at(-1) },
    facts: { pods: [makePod({ ready: true, deleting: at(2) })] },
    phase: 'Deleting',
    reason: 'Deleting',
    message: '1 pod left',
  },
  {
    name: 'a host that an older object has',
    facts: {
      pods: [makePod({ ready: true })],
      problems: [{ reason: 'HostConflict', message: 'host a.example belongs to team-b/other' }],
    },
    phase: 'Invalid',
    reason: 'HostConflict',
    message: 'host a.example belongs to team-b/other',
    condition: { type: 'RouteReady', status: 'False' },
  },
  {
    name: 'a cluster without an ingress class',
    facts: {
      pods: [makePod({ ready: true })],
      problems: [{ reason: 'NoIngressClass', message: 'no class' }],
    },
    phase: 'Unrouted',
    reason: 'NoIngressClass',
    message: 'no class',
    condition: { type: 'Accepted', status: 'True' },
  },
  {
    name: 'a missing Secret',
    facts: { problems: [{ reason: 'SecretNotFound', message: 'Secret hf is missing' }] },
    phase: 'Invalid',
    reason: 'SecretNotFound',
    message: 'Secret hf is missing',
    condition: { type: 'Accepted', status: 'False' },
  },
  {
    name: 'a host that Redis does not hold yet',
    facts: { pods: [makePod({ ready: true })], unpublished: 'Redis is away: refused' },
    phase: 'Unrouted',
    reason: 'NotPublished',
    message: 'Redis is away: refused',
    condition: { type: 'RouteReady', status: 'Unknown' },
  },
];

describe('the status of a ModelDeployment', () => {
  for (const row of table) {
    it(`reports ${row.name}`, () => {
      const model = makeModel({ spec: row.spec ?? {}, metadata: row.metadata ?? {} });
      const status = deriveStatus(model, makeFacts(row.facts));
      const ready = findCondition(status.conditions, 'Ready');
      expect(status.phase).to.equal(row.phase);
      const isAsAsked = ['Ready', 'Paused', 'ScaledToZero'].includes(row.phase);
      expect(ready?.status).to.equal(isAsAsked ? 'True' : 'False');
      expect(ready?.reason).to.equal(row.reason);
      expect(ready?.message).to.equal(row.message);
      if (row.condition)
        expect(findCondition(status.conditions, row.condition.type)?.status).to.equal(row.condition.status);
    });
  }

  it('says of a pod without a node that it is not scheduled, not that images are pulled', () => {
    for (const shape of [{ gates: ['example.com/queue'] }, { unscheduled: GPU_REFUSAL }, { node: null }]) {
      const { conditions } = deriveStatus(makeModel(), makeFacts({ pods: [makePod(shape)] }));
      for (const type of ['ImagePulled', 'WeightsLoaded', 'EngineHealthy'])
        expect(findCondition(conditions, type)).to.include({ status: 'Unknown', reason: 'NotStarted' });
    }
  });

  it('says that pods are evicted again and again before they are ready', () => {
    const message = 'Exceeded the PodsReady timeout team/pod-qwen-1';
    const evaluate = (count: number, pod: object) => {
      const facts = makeFacts({ pods: [makePod(pod)], vainEvictions: { count, message } });
      return findCondition(deriveStatus(makeModel(), facts).conditions, 'GPUsAvailable');
    };
    expect(evaluate(3, {})).to.include({
      status: 'False',
      reason: 'EvictedBeforeReady',
      message: `evicted 3 times before a pod was ready: ${message}`,
    });
    expect(evaluate(1, {})).not.to.include({ reason: 'EvictedBeforeReady' });
    expect(evaluate(3, { ready: true })).not.to.include({ reason: 'EvictedBeforeReady' });
    expect(evaluate(3, { gates: ['kueue.x-k8s.io/admission'] })).to.include({ reason: 'WaitingForQuota' });
  });

  it('is not stuck beyond the deadline of its Deployment while its pods are held back', () => {
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
    const evaluate = (shape: object) => {
      const facts = makeFacts({
        deployment: makeDeployment({ updatedReplicas: 1, conditions }),
        pods: [makePod(shape)],
      });
      return findCondition(deriveStatus(makeModel(), facts).conditions, 'Progressing');
    };
    for (const gate of ['kueue.x-k8s.io/admission', 'example.com/queue'])
      expect(evaluate({ gates: [gate] })).to.include({ status: 'True', reason: 'Scaling' });
    expect(evaluate({ node: null })).to.include({ status: 'False', reason: 'ProgressDeadlineExceeded' });
  });

  it('does not wait for a pod to drain that is stuck', () => {
    const evaluate = (minutes: number) => {
      const pods = [makePod({ unscheduled: GPU_REFUSAL }), makePod({ deleting: at(minutes) })];
      return findCondition(deriveStatus(makeModel(), makeFacts({ pods })).conditions, 'GPUsAvailable');
    };
    expect(evaluate(-1)).to.include({ reason: 'WaitingForDrain' });
    expect(evaluate(-2)).to.include({ reason: 'InsufficientGPUs' });
  });

  it('says why no replica is available where none is wanted', () => {
    for (const [spec, reason] of [
      [{ paused: true }, 'Paused'],
      [{ replicas: 0 }, 'ScaledToZero'],
    ] as const) {
      const { conditions } = deriveStatus(makeModel({ spec }), makeFacts({ desiredReplicas: 0 }));
      expect(findCondition(conditions, 'Available')).to.include({ status: 'False', reason });
    }
  });

  it('reports GPUs that are short for what the autoscaler wants, of deployments that have any', () => {
    const scaling = { demand: 80, wanted: 4, needed: 5, reason: 'needs 5, has 3', short: true };
    const evaluate = (gpuResource: string) => {
      const facts = makeFacts({ scaling, gpuResource, pods: [1, 2, 3].map(() => makePod({ ready: true })) });
      return findCondition(deriveStatus(makeModel(), facts).conditions, 'GPUsAvailable');
    };
    expect(evaluate('nvidia.com/gpu')).to.include({ reason: 'GPUsShort', message: 'needs 5, has 3' });
    expect(evaluate('')?.reason).not.to.equal('GPUsShort');
  });

  it('counts ready pods without those that are leaving', () => {
    const pods = [makePod({ ready: true }), makePod({ ready: true, deleting: at(1) }), makePod({})];
    const status = deriveStatus(makeModel(), makeFacts({ pods, desiredReplicas: 2 }));
    expect([status.replicas, status.readyReplicas, status.desiredReplicas]).to.deep.equal([2, 1, 2]);
  });

  it('leaves evicted pods out once they are replaced', () => {
    const pods = [makePod({ phase: 'Failed', reason: 'Evicted' }), makePod({ ready: true })];
    const status = deriveStatus(makeModel(), makeFacts({ pods }));
    expect([status.phase, status.replicas]).to.deep.equal(['Ready', 1]);
    expect(findCondition(status.conditions, 'EngineHealthy')?.status).to.equal('True');
  });

  it('keeps Ready true while one of two replicas crashes, and says so in EngineHealthy', () => {
    const crashed = makePod({ engine: { state: { terminated: { exitCode: 3 } } } });
    const status = deriveStatus(makeModel(), makeFacts({ pods: [makePod({ ready: true }), crashed] }));
    expect(findCondition(status.conditions, 'Ready')?.status).to.equal('True');
    expect(findCondition(status.conditions, 'EngineHealthy')?.message).to.equal('engine exited with code 3');
  });

  it('moves a transition time only with its status', () => {
    const first = deriveStatus(makeModel(), makeFacts({ now: NOW - 5_000 }));
    const later = deriveStatus(makeModel({ status: first }), makeFacts({ pods: [makePod({ ready: true })] }));
    const time = (status: typeof first, type: string) =>
      findCondition(status.conditions, type)?.lastTransitionTime;
    expect(time(later, 'Ready')).to.equal('2026-01-01T12:00:00Z');
    expect(time(later, 'Accepted')).to.equal('2026-01-01T11:59:55Z');
  });

  it('comes out the same for the same facts an hour later, whatever they are: nothing is written while nothing happens', () => {
    for (const { name, reason, spec = {}, metadata = {}, facts } of table) {
      // A drain that has not ended by then is stuck.
      if (reason === 'WaitingForDrain') continue;
      const first = deriveStatus(makeModel({ spec, metadata }), makeFacts(facts));
      const model = makeModel({ spec, metadata, status: first });
      expect(deriveStatus(model, { ...makeFacts(facts), now: NOW + 3_600_000 }), name).to.deep.equal(first);
    }
  });

  it('keeps a route ready while Redis is away, if it was published before', () => {
    const pods = [makePod({ ready: true })];
    const before = deriveStatus(makeModel(), makeFacts({ pods }));
    const after = deriveStatus(
      makeModel({ status: before }),
      makeFacts({ pods, unpublished: 'Redis is away' }),
    );
    expect(after.phase).to.equal('Ready');
  });

  it('keeps what was said of what fits while that cannot be looked up, for the same spec only', () => {
    const fitOf = (fit: StatusFacts['fit'], before?: object, generation = 3) => {
      const model = makeModel({ status: before, metadata: { generation } });
      const status = deriveStatus(model, makeFacts({ fit }));
      return { status, reason: findCondition(status.conditions, 'Fits')?.reason };
    };
    const away = { status: 'Unknown', reason: 'NotLookedUp', message: 'the front answered 503' } as const;
    const known = fitOf({ status: 'False', reason: 'WeightsTooLarge', message: '' });
    expect(fitOf(away).reason).to.equal('NotLookedUp');
    for (const fit of [away, 'Pending'] as const)
      expect(fitOf(fit, known.status).reason).to.equal('WeightsTooLarge');
    expect(fitOf(away, known.status, 4).reason).to.equal('NotLookedUp');
    expect(fitOf('Pending', known.status, 4).reason).to.equal(undefined);
  });

  it('reports a newer sidecar', () => {
    const status = deriveStatus(makeModel(), makeFacts({ sidecarVersion: '0.9.0' }));
    const update = findCondition(status.conditions, 'UpdateAvailable');
    expect(update?.status).to.equal('True');
    expect(update?.message).to.include('rollout.revision');
  });

  it('reports a sidecar of the same version with another image, and what rolls it', () => {
    const facts = makeFacts({ isSidecarOutdated: true });
    const messageOf = (change: object) =>
      findCondition(deriveStatus(makeModel(), { ...facts, ...change }).conditions, 'UpdateAvailable');
    expect(messageOf({})).to.include({
      status: 'True',
      reason: 'NewerSidecar',
      message: 'the pods run an older sidecar; change rollout.revision to update to 1.0.0',
    });
    expect(messageOf({ isSidecarRolled: true })?.message).to.equal(
      'the pods run an older sidecar; the installation updates them automatically; change rollout.revision to update now',
    );
  });

  for (const [sidecarVersion, reason, message] of [
    [
      '1.0.0',
      'NewerSettings',
      "the pods run with older settings (the Redis address, the egress rules); change rollout.revision to update to the installation's",
    ],
    [
      '0.9.0',
      'NewerSidecar',
      'the pods run sidecar 0.9.0 with older settings (the Redis address, the egress rules); change rollout.revision to update to 1.0.0',
    ],
  ])
    it(`reports settings that the pods were not created with, at sidecar ${sidecarVersion}`, () => {
      const staleSettings = ['the Redis address', 'the egress rules'];
      const status = deriveStatus(makeModel(), makeFacts({ sidecarVersion, staleSettings }));
      expect(findCondition(status.conditions, 'UpdateAvailable')).to.include({
        status: 'True',
        reason,
        message,
      });
    });

  it('refuses a spec that its schema refuses, and keeps what it knew', () => {
    const model = makeModel({ status: { url: 'http://x/v1', readyReplicas: 1 } });
    const status = deriveRefusal(model.metadata, model.status, {
      reason: 'InvalidSpec',
      message: 'spec.kind: wrong',
      now: NOW,
    });
    expect(status.phase).to.equal('Invalid');
    expect(status.readyReplicas).to.equal(1);
    expect(findCondition(status.conditions, 'Accepted')?.message).to.equal('spec.kind: wrong');
  });
});
