/** Specs of an API server in memory, recorded as the operator does it. */
import { trimModel } from '../../../operator/framework/cluster-view.ts';
import { SpecRecorder } from '../../../operator/history/spec-recorder.ts';
import type { MemoryTarget } from '../cli/memory-target.ts';

const MODELS = 'modeldeployments.berth.dev';

export interface RecordedSpecs {
  /** Shows the recorder a deployment, as its watch does. */
  record(name: string): Promise<void>;
}

export function recordSpecs({ api, client, namespace }: MemoryTarget): RecordedSpecs {
  const get = (key: string) => {
    const live = api.find(MODELS, { namespace, name: key.split('/')[1]! });
    return live && trimModel(live);
  };
  const recorder = new SpecRecorder({ client, view: { models: { get } }, now: Date.now });
  return {
    record: async (name) => {
      await recorder.reconcile(`${namespace}/${name}`, new AbortController().signal);
    },
  };
}
