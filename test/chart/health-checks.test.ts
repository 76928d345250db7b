/** How deployment tools judge Berth's objects, by kstatus and by the example's script in Argo CD's interpreter. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { apiKey } from '../../api/api-key.ts';
import { API_VERSION, type Condition } from '../../api/kubernetes-types.ts';
import { webhookEndpoint } from '../../api/webhook-endpoint.ts';
import { ensureBinary } from '../../cluster/binaries.ts';
import { describeKey } from '../../operator/key/key-reconciler.ts';
import { ACCEPTED, mergeConditions, verdict } from '../../operator/status/condition-list.ts';
import { deriveRefusal, deriveStatus, type StatusFacts } from '../../operator/status/model-deployment.ts';
import { describeEndpoint, evaluateActivity } from '../../operator/webhook/endpoint-reconciler.ts';
import {
  at,
  makeDeployment,
  makeFacts,
  makeModel,
  makePod,
  NOW,
} from '../unit/operator/status/pod-fixtures.ts';

const { data } = parse(readFileSync('examples/gitops/argocd-cm.yaml', 'utf8'));
const SCRIPT: string = parse(data['resource.customizations'])['berth.dev/*']['health.lua'];

interface Judged {
  kstatus: string;
  message: string;
  argocd: { status: string; message: string };
}

type Verdict = [kstatus: string, argocd: string];
const CURRENT: Verdict = ['Current', 'Healthy'];
const IN_PROGRESS: Verdict = ['InProgress', 'Progressing'];
const FAILED: Verdict = ['Failed', 'Degraded'];

const ready = makePod({ ready: true });
const starting = makePod({ engine: { state: { running: { startedAt: at(-4) } } } });
const crash = (restartCount: number) =>
  makePod({
    engine: {
      restartCount,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1, message: 'CUDA error' } },
    },
  });
const overdue = makeDeployment({
  updatedReplicas: 1,
  conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'late' }],
});
const FROM_ZERO = { scaling: { min: 0, max: 3 } };
const problem = (reason: string): Partial<StatusFacts> => ({ problems: [{ reason, message: 'why' }] });

const deployments: [name: string, facts: Partial<StatusFacts>, Verdict, spec?: object][] = [
  ['starts', { pods: [starting] }, IN_PROGRESS],
  ['has no pod yet', {}, IN_PROGRESS],
  ['is ready', { pods: [ready] }, CURRENT],
  ['has one of two replicas', { pods: [ready, starting], desiredReplicas: 2 }, IN_PROGRESS],
  [
    'rolls out while old replicas serve',
    { pods: [ready, ready], desiredReplicas: 2, deployment: makeDeployment({ updatedReplicas: 1 }) },
    IN_PROGRESS,
  ],
  [
    'rolls out an engine that crashes, while old replicas serve',
    {
      pods: [ready, crash(4)],
      desiredReplicas: 2,
      deployment: makeDeployment({ updatedReplicas: 1 }),
    },
    FAILED,
  ],
  ['is paused', { desiredReplicas: 0 }, CURRENT, { paused: true }],
  [
    'is paused while its route does not work',
    { desiredReplicas: 0, unpublished: 'x' },
    CURRENT,
    { paused: true },
  ],
  ['has its pods leave for a pause', { pods: [ready], desiredReplicas: 0 }, IN_PROGRESS, { paused: true }],
  ['is set to zero', { desiredReplicas: 0 }, CURRENT, { replicas: 0 }],
  ['rests at zero', { desiredReplicas: 0 }, CURRENT, FROM_ZERO],
  [
    'rests at zero without a route',
    { desiredReplicas: 0, unpublished: 'Redis is away' },
    IN_PROGRESS,
    FROM_ZERO,
  ],
  ['wakes', { pods: [starting] }, IN_PROGRESS, FROM_ZERO],
  [
    'follows the demand',
    { pods: [ready, starting], desiredReplicas: 2, deployment: makeDeployment({ updatedReplicas: 2 }) },
    CURRENT,
    FROM_ZERO,
  ],
  [
    'is below the minimum of its autoscaler',
    { pods: [ready, starting], desiredReplicas: 2 },
    IN_PROGRESS,
    { scaling: { min: 2, max: 3 } },
  ],
  [
    'lacks GPUs',
    { pods: [makePod({ unscheduled: '0/1 nodes are available: 1 Insufficient nvidia.com/gpu.' })] },
    IN_PROGRESS,
  ],
  ['crashes for the first time', { pods: [crash(1)] }, IN_PROGRESS],
  ['crashes again and again', { pods: [crash(3)] }, FAILED],
  [
    'has an image that cannot be pulled',
    { pods: [makePod({ engine: { state: { waiting: { reason: 'ErrImagePull' } } } })] },
    IN_PROGRESS,
  ],
  [
    'has an image without a valid name',
    { pods: [makePod({ engine: { state: { waiting: { reason: 'InvalidImageName' } } } })] },
    FAILED,
  ],
  ['exceeds its progress deadline', { pods: [starting], deployment: overdue }, FAILED],
  ['serves after it exceeded its progress deadline', { pods: [ready], deployment: overdue }, CURRENT],
  [
    'has waited for admission beyond its progress deadline',
    { pods: [makePod({ gates: ['kueue.x-k8s.io/admission'] })], deployment: overdue },
    IN_PROGRESS,
  ],
  ['waits for a Secret', problem('SecretNotFound'), IN_PROGRESS],
  ['waits for its host', { ...problem('HostConflict'), pods: [ready] }, IN_PROGRESS],
  ['waits for an ingress class', { ...problem('NoIngressClass'), pods: [ready] }, IN_PROGRESS],
  ['names a host that is not allowed', { ...problem('HostNotAllowed'), pods: [ready] }, FAILED],
  ['needs a source', problem('SourceMissing'), FAILED],
];

const SPEC_PROBLEM = verdict('False', 'InvalidSpec', 'spec.url: wrong');
const UNCHECKED = verdict('Unknown', 'Checking', 'spec.url is being checked');

const key = (spec: object) =>
  apiKey.parse({ apiVersion: API_VERSION, kind: 'APIKey', metadata: { name: 'k', namespace: 'a' }, spec });
const endpoint = (spec: object = {}) =>
  webhookEndpoint.parse({
    apiVersion: API_VERSION,
    kind: 'WebhookEndpoint',
    metadata: { name: 'k', namespace: 'a' },
    spec: { url: 'https://receiver.example/', eventTypes: ['request.completed'], ...spec },
  });
const active = (given: {
  spec?: object;
  accepted?: typeof ACCEPTED;
  disabledAt?: number;
  fault?: string;
}) => {
  const { spec, accepted = ACCEPTED, disabledAt = null, fault } = given;
  const health = { failures: 20, disabledAt };
  return describeEndpoint(accepted, evaluateActivity(accepted, endpoint(spec), { health, fault }));
};

const others: [what: string, conditions: Parameters<typeof mergeConditions>[1], Verdict][] = [
  ['a key', describeKey(ACCEPTED, key({}), NOW), CURRENT],
  ['a disabled key', describeKey(ACCEPTED, key({ disabled: true }), NOW), CURRENT],
  ['an expired key', describeKey(ACCEPTED, key({ expiresAt: '2025-01-01T00:00:00Z' }), NOW), CURRENT],
  ['a key that another has', describeKey(verdict('False', 'DuplicateKey', 'why'), key({}), NOW), IN_PROGRESS],
  ['a key with an invalid spec', describeKey(SPEC_PROBLEM, undefined, NOW), FAILED],
  ['an endpoint', active({}), CURRENT],
  ['a disabled endpoint', active({ spec: { enabled: false } }), CURRENT],
  ['an endpoint whose URL is being checked', active({ accepted: UNCHECKED }), IN_PROGRESS],
  [
    'an endpoint whose URL is refused',
    active({ accepted: verdict('False', 'InvalidURL', 'why') }),
    IN_PROGRESS,
  ],
  ['an endpoint without its secret', active({ fault: 'no secret' }), IN_PROGRESS],
  ['an endpoint that failures have disabled', active({ disabledAt: NOW }), FAILED],
  ['an endpoint with an invalid spec', active({ accepted: SPEC_PROBLEM }), FAILED],
];

describe('the health of objects, for Flux, Helm, kubectl and Argo CD', () => {
  let program: string;
  before(async () => {
    program = await ensureBinary('healthcheck');
  });

  function judge(object: object): Judged {
    const input = JSON.stringify({ script: SCRIPT, objects: [object] });
    const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' });
    expect(status, stderr).to.equal(0);
    return JSON.parse(stdout);
  }
  const expectVerdict = (object: object, [kstatus, argocd]: Verdict): Judged => {
    const judged = judge(object);
    expect([judged.kstatus, judged.argocd.status], JSON.stringify(judged)).to.deep.equal([kstatus, argocd]);
    return judged;
  };

  for (const [name, facts, expected, spec = {}] of deployments)
    it(`is ${expected[0]} for a deployment that ${name}`, () => {
      const model = makeModel({ spec });
      const status = deriveStatus(model, makeFacts(facts));
      expectVerdict({ ...model, status }, expected);
      const isReady = status.conditions.find(({ type }) => type === 'Ready')?.status === 'True';
      if (expected === CURRENT) expect(isReady, 'kubectl wait --for=condition=Ready').to.equal(true);
    });

  it('says what is wrong', () => {
    const model = makeModel();
    const status = deriveStatus(model, makeFacts({ pods: [crash(3)] }));
    const why = 'engine exited with code 1, 3 restarts: CUDA error';
    const { message, argocd } = judge({ ...model, status });
    expect([message, argocd.message]).to.deep.equal([why, `CrashLoopBackOff: ${why}`]);
  });

  it('is Failed for a deployment that this version cannot read', () => {
    const model = makeModel();
    const refusal = { reason: 'InvalidSpec', message: 'spec.kind: wrong', now: NOW };
    expectVerdict({ ...model, status: deriveRefusal(model.metadata, model.status, refusal) }, FAILED);
  });

  it('is Terminating for a deployment that is being deleted', () => {
    const metadata = { deletionTimestamp: at(-1) };
    const model = makeModel({ metadata });
    const status = deriveStatus(model, makeFacts({ pods: [makePod({ ready: true, deleting: at(2) })] }));
    expectVerdict({ ...model, status }, ['Terminating', 'Progressing']);
  });

  it('is InProgress until the operator has seen a change', () => {
    const model = makeModel();
    const status = deriveStatus(model, makeFacts({ pods: [ready] }));
    expectVerdict({ ...model, metadata: { ...model.metadata, generation: 4 }, status }, IN_PROGRESS);
  });

  for (const kind of ['ModelDeployment', 'APIKey', 'Workspace', 'WebhookEndpoint', 'StorageCredential'])
    it(`is InProgress for a new ${kind} until the operator has seen it`, () => {
      const crd = parse(readFileSync(`charts/berth/files/crds/${kind.toLowerCase()}s.yaml`, 'utf8'));
      const { default: status } = crd.spec.versions[0].schema.openAPIV3Schema.properties.status;
      const metadata = { name: 'x', namespace: 'a', generation: 1 };
      expectVerdict({ apiVersion: API_VERSION, kind, metadata, status }, IN_PROGRESS);
    });

  for (const [what, conditions, expected] of others)
    it(`is ${expected[0]} for ${what}`, () => {
      const merged: Condition[] = mergeConditions([], conditions, { generation: 1, now: NOW });
      const metadata = { name: 'x', namespace: 'a', generation: 1 };
      const status = { observedGeneration: 1, conditions: merged };
      expectVerdict({ apiVersion: API_VERSION, kind: 'APIKey', metadata, status }, expected);
    });
});
