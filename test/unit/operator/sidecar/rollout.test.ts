import { expect } from 'chai';
import { silentLog } from '../../../../kube/log.ts';
import type { ErrorReader } from '../../../../operator/sidecar/error-counts.ts';
import { SidecarRollout, type SidecarRolloutOptions } from '../../../../operator/sidecar/rollout.ts';
import { parseSidecarRollout } from '../../../../operator/sidecar/settings.ts';

const NOW = Date.parse('2026-03-04T12:00:00Z');
const MINUTE = 60_000;
const time = (minutesAgo: number) => new Date(NOW - minutesAgo * MINUTE).toISOString();

interface Rolled {
  startedMinutesAgo: number;
  /** Undefined: in progress. */
  completeMinutesAgo?: number;
}

/** Deployments of the namespace `a` that were rolled to the sidecar `new`, by name. */
function start(rolled: Record<string, Rolled>, readErrors: ErrorReader) {
  const models = Object.keys(rolled).map((name) => ({ metadata: { name, namespace: 'a' } }));
  const deploymentOf = ({ startedMinutesAgo, completeMinutesAgo }: Rolled) => ({
    metadata: {
      annotations: {
        'berth.dev/sidecar-revision': 'new',
        'berth.dev/sidecar-rolled-at': time(startedMinutesAgo),
      },
    },
    spec: { replicas: 1 },
    status: {
      availableReplicas: 1,
      conditions: [
        {
          type: 'Progressing',
          status: 'True',
          reason: completeMinutesAgo === undefined ? 'ReplicaSetUpdated' : 'NewReplicaSetAvailable',
          lastUpdateTime: time(completeMinutesAgo ?? 0),
        },
      ],
    },
  });
  const rollout = new SidecarRollout({
    client: { find: async () => undefined, mergePatch: async () => undefined },
    view: {
      models: { list: () => models, get: () => undefined },
      deployments: { get: (key: string) => deploymentOf(rolled[key.slice(2)]!) },
    },
    namespace: 'berth',
    settings: parseSidecarRollout({ enabled: true, stop: { failedPercent: 100 } }),
    sidecar: { revision: 'new', image: 'berth:new' },
    readErrors,
    enqueue: () => {},
    record: () => {},
    recordOnPod: () => {},
    now: () => NOW,
    log: silentLog,
  } as unknown as SidecarRolloutOptions);
  return rollout;
}

const counts = (requests: number, errors: number) => ({
  before: { requests: 0, errors: 0 },
  after: { requests, errors },
});

describe('a round of the sidecar rollout', () => {
  it('judges by its end a rollout that took longer than outcomes count', async () => {
    const rollout = start({ slow: { startedMinutesAgo: 180, completeMinutesAgo: 10 } }, async () =>
      counts(100, 50),
    );
    await rollout.check();
    expect(rollout.counts()).to.include({ rolling: 0, failed: 1 });
  });

  it('still counts one under way, however long ago it began', async () => {
    const rollout = start({ slow: { startedMinutesAgo: 180 } }, async () => counts(0, 0));
    await rollout.check();
    expect(rollout.counts()).to.include({ rolling: 1, failed: 0 });
  });

  it('judges each by itself: one that Redis does not know waits, one whose usage is unreadable does not', async () => {
    const errors: Record<string, Error> = {
      away: new Error('Connection is closed.'),
      unreadable: new Error('WRONGTYPE Operation against a key holding the wrong kind of value'),
    };
    const over = { startedMinutesAgo: 20, completeMinutesAgo: 10 };
    const rollout = start({ away: over, bad: over, unreadable: over }, async ({ name }) => {
      if (errors[name]) throw errors[name];
      return counts(100, 50);
    });
    await rollout.check();
    expect(rollout.counts()).to.include({ rolling: 1, failed: 1 });
  });
});
