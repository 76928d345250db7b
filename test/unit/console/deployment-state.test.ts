import { expect } from 'chai';
import { modelDeployment } from '../../../api/model-deployment.ts';
import { describeDeployment } from '../../../console/server/views/deployment.ts';
import { describeState } from '../../../console/server/views/deployment-state.ts';

const PAUSED = 'Paused: requests get HTTP 503 until it is resumed.';

type Told = [type: string, status: string, reason?: string, message?: string];

interface Facts {
  told?: Told[];
  deletionTimestamp?: string;
  paused?: boolean;
  generation?: number;
  status?: object;
  spec?: object;
}

function make({ told = [], deletionTimestamp, paused = false, generation = 1, status, spec }: Facts) {
  const conditions = told.map(([type, state, reason = 'Reason', message = `${type} says`]) => ({
    type,
    status: state,
    reason,
    message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  }));
  return modelDeployment.parse({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: {
      name: 'm',
      namespace: 'n',
      generation,
      deletionTimestamp,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' }, paused, ...spec },
    status: { conditions, ...status },
  });
}

const SERVES: Told = ['Ready', 'True', 'Ready', 'serves'];
const HALF = { readyReplicas: 1, desiredReplicas: 2 };

describe("a deployment's state", () => {
  const TABLE: [string, Facts, string, string | RegExp][] = [
    ['nothing was said yet', {}, 'starting', 'Not reconciled yet.'],
    ['it serves', { told: [SERVES], status: { readyReplicas: 2, desiredReplicas: 2 } }, 'ready', ''],
    ['it is deleted', { told: [SERVES], deletionTimestamp: '2026-01-02T00:00:00Z' }, 'deleting', 'serves'],
    ['a replica is missing', { told: [SERVES], status: HALF }, 'degraded', '1 of 2 replicas are ready.'],
    ['a replica is on its way', { told: [SERVES, ['Progressing', 'True']], status: HALF }, 'ready', ''],
    ['its bucket fails', { told: [SERVES, ['StorageReady', 'False']] }, 'degraded', 'StorageReady says'],
    [
      'one pod finds no GPU',
      { told: [SERVES, ['GPUsAvailable', 'False']], status: HALF },
      'degraded',
      'GPUsAvailable says',
    ],
    [
      'its engine served and is not healthy any more',
      {
        told: [
          ['Ready', 'False', 'EngineUnhealthy'],
          ['EngineHealthy', 'False', 'EngineUnhealthy'],
        ],
      },
      'unhealthy',
      'Ready says',
    ],
    ['it is paused', { told: [['Ready', 'True', 'Paused']], paused: true }, 'paused', PAUSED],
    [
      'it was paused a moment ago',
      { told: [['Ready', 'False', 'Starting']], paused: true, generation: 2 },
      'paused',
      PAUSED,
    ],
    ['no replica is wanted', { told: [['Ready', 'True', 'ScaledToZero']] }, 'scaled-to-zero', 'Ready says'],
    [
      'weights load',
      {
        told: [
          ['Ready', 'False', 'Loading'],
          ['WeightsLoaded', 'False', 'Loading'],
        ],
      },
      'starting',
      'Ready says',
    ],
    [
      'no node has its GPUs',
      {
        told: [
          ['Ready', 'False', 'Unschedulable'],
          ['GPUsAvailable', 'False'],
        ],
      },
      'starting',
      'Ready says',
    ],
    [
      'its image is not there',
      {
        told: [
          ['Ready', 'False', 'ErrImagePull'],
          ['ImagePulled', 'False', 'ErrImagePull'],
        ],
      },
      'failing',
      'Ready says',
    ],
    [
      'the engine crashes',
      {
        told: [
          ['Ready', 'False', 'CrashLoop'],
          ['EngineHealthy', 'False', 'CrashLoop'],
        ],
      },
      'failing',
      'Ready says',
    ],
    [
      'the spec is refused',
      {
        told: [
          ['Ready', 'False', 'HostConflict'],
          ['Accepted', 'False', 'HostConflict'],
        ],
      },
      'failing',
      'Ready says',
    ],
    [
      'it has no route',
      {
        told: [
          ['Ready', 'False', 'NoIngressClass'],
          ['RouteReady', 'False'],
        ],
      },
      'failing',
      'Ready says',
    ],
    ['pods are refused', { told: [['Ready', 'False', 'ReplicaFailure']] }, 'failing', 'Ready says'],
    [
      'what crashed was changed',
      {
        told: [
          ['Ready', 'False', 'CrashLoop'],
          ['EngineHealthy', 'False'],
        ],
        generation: 2,
      },
      'starting',
      'Ready says',
    ],
  ];
  for (const [when, facts, state, message] of TABLE)
    it(`is ${state} when ${when}`, () => {
      expect(describeState(make(facts))).to.deep.equal({ state, message });
    });
});

describe('the view of a deployment', () => {
  it('has the base URL that SDKs take', () => {
    const view = (url: string) => describeDeployment(make({ status: { url } })).baseURL;
    expect(view('https://m--n.example.com')).to.equal('https://m--n.example.com/v1');
    expect(view('http://127.0.0.1:8001/')).to.equal('http://127.0.0.1:8001/v1');
    expect(view('http://127.0.0.1:8001/v1')).to.equal('http://127.0.0.1:8001/v1');
    expect(describeDeployment(make({})).baseURL).to.equal(null);
  });

  it('shows what the engine was started with, and prices', () => {
    const engine = { family: 'qwen3', toolCallParser: 'hermes' };
    const pricing = { perMillionInputTokens: '0.20', perMillionCachedInputTokens: '0.05' };
    const view = describeDeployment(make({ status: { engine }, spec: { pricing } }));
    expect(view.engine).to.deep.include(engine).and.to.have.property('preset');
    expect(view.prices).to.deep.equal([
      { of: 'million input tokens', amount: '0.20' },
      { of: 'million cached input tokens', amount: '0.05' },
    ]);
    const audio = describeDeployment(
      make({ spec: { pricing: { perAudioMinute: '0.01', perMillionCharacters: '15' } } }),
    );
    expect(audio.prices).to.deep.equal([
      { of: 'minute of audio', amount: '0.01' },
      { of: 'million characters', amount: '15' },
    ]);
    expect(describeDeployment(make({})).prices).to.deep.equal([]);
  });

  it('shows the stages of a start, and what it waits for', () => {
    const at = '2026-01-01T00:00:02Z';
    const startup = {
      pod: 'm-1',
      createdAt: at,
      stages: [{ stage: 'Scheduled', at, took: '2s' }],
      expected: '95s',
    };
    const view = (more: object) =>
      describeDeployment(make({ status: { startup: { ...startup, ...more } } })).startup;
    const stages = [{ stage: 'Scheduled', took: '2s' }];
    const current = { stage: 'Ready', since: at };
    expect(view({ current })).to.deep.equal({ stages, current, took: null, expected: '95s' });
    expect(view({ took: '97s' })).to.deep.equal({ stages, current: null, took: '97s', expected: '95s' });
    expect(describeDeployment(make({})).startup).to.equal(null);
  });

  it('tells what the autoscaler sees and did last, while the deployment is scaled', () => {
    const lastChange = {
      at: '2026-01-01T00:00:00Z',
      from: 1,
      to: 3,
      reason: 'demand 20 needs 3 replicas at 8 each',
    };
    const scaling = {
      demand: 20,
      wanted: 3,
      needed: 4,
      reason: 'needs 4, has 3',
      loadTime: '95s',
      lastChange,
    };
    const view = (spec: object, more: object = {}) =>
      describeDeployment(make({ spec, status: { scaling: { ...scaling, ...more } } })).scaling;
    const { wanted, ...shown } = scaling;
    expect(wanted).to.equal(3);
    const scaled = { scaling: { max: 4 } };
    expect(view(scaled)).to.deep.equal({ ...shown, isShort: false });
    expect(view(scaled, { short: true })).to.deep.equal({ ...shown, isShort: true });
    expect(view({ replicas: 3 })).to.equal(null);
    expect(describeDeployment(make({ spec: { scaling: { max: 4 } } })).scaling).to.equal(null);
  });

  it('lists the parameters of images and videos, with defaults', () => {
    const media = (spec: object) => describeDeployment(make({ spec })).media;
    expect(media({})).to.equal(null);
    expect(media({ kind: 'Image' })).to.deep.equal({
      sizes: ['1024x1024'],
      imageInput: false,
      textInput: true,
      native: null,
      steps: null,
      parameters: media({ kind: 'Image' })!.parameters,
    });
    const video = { resolutions: ['480x832'], tasks: ['i2v'], native: { seconds: 5, fps: 16 } };
    expect(media({ kind: 'Video', video })).to.deep.equal({
      sizes: ['480x832'],
      imageInput: true,
      textInput: false,
      native: { seconds: 5, fps: 16 },
      steps: null,
      parameters: ['negative_prompt', 'seed', 'fps'],
    });
    const steps = { min: 1, max: 50, default: 20 };
    const image = { parameters: ['seed', 'num_inference_steps'], steps };
    expect(media({ kind: 'Image', image })!.parameters).to.deep.equal(['seed', 'num_inference_steps']);
  });
});
