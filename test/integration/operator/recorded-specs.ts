/** Specs of an API server in memory, recorded as the operator does it. */
import type { KubeClient } from '../../../kube/client.ts';
import type { Requeue } from '../../../kube/work-queue.ts';
import { trimModel } from '../../../operator/framework/cluster-view.ts';
import { SpecRecorder } from '../../../operator/history/spec-recorder.ts';
import type { MemoryTarget } from '../cli/memory-target.ts';

const MODELS = 'modeldeployments.berth.dev';

/** A clock that moves as the test says: times of Kubernetes have whole seconds. */
export function createSecondHand(): { now: () => Date; passSecond: () => void } {
  let seconds = Date.UTC(2026, 10, 30) / 1_000;
  return {
    now: () => new Date(seconds * 1_000),
    passSecond: () => {
      seconds++;
    },
  };
}

export interface RecordedSpecs {
  /** Shows the recorder a deployment, as its watch does. */
  record(name: string): Promise<Requeue>;
}

export interface RecordingOptions {
  now: () => Date;
  client?: Pick<KubeClient, 'list' | 'create' | 'delete'>;
  watchNamespaces?: string[];
}

export function recordSpecs(target: MemoryTarget, options: RecordingOptions): RecordedSpecs {
  const { api, namespace } = target;
  const { now, client = target.client, watchNamespaces = [] } = options;
  const get = (key: string) => {
    const live = api.find(MODELS, { namespace, name: key.split('/')[1]! });
    return live && trimModel(live);
  };
  const recorder = new SpecRecorder({
    client,
    view: { models: { get } },
    settings: { watchNamespaces },
    now: () => now().getTime(),
  });
  return { record: (name) => recorder.reconcile(`${namespace}/${name}`, new AbortController().signal) };
}
