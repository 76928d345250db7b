/** Waits until what was applied at startup serves, or the reason is known why not. */
import type { MemoryApi } from '../kube/memory/memory-api.ts';
import type { KubeObject } from '../kube/object.ts';
import { readCondition } from './conditions.ts';

/** Reasons that mean a missing prerequisite or a problem. */
export interface Obstacle {
  kind: string;
  namespace: string;
  name: string;
  reason: string;
  message: string;
}

const SETTLED = new Set(['Ready', 'Paused', 'ScaledToZero', 'Invalid', 'Failed', 'Unrouted']);

const isObserved = (object: KubeObject, type: string): boolean =>
  readCondition(object, type)?.observedGeneration === object.metadata.generation;

/** A real engine may load its weights for an hour, so it is not waited for. */
function isSettled(model: KubeObject): boolean {
  const { phase, observedGeneration } = (model.status ?? {}) as {
    phase?: string;
    observedGeneration?: number;
  };
  const { preset } = (model.spec as { engine: { preset: string } }).engine;
  if (observedGeneration !== model.metadata.generation) return false;
  return (
    SETTLED.has(phase ?? '') || (preset !== 'simulator' && readCondition(model, 'Progressing') !== undefined)
  );
}

const isDone = (api: MemoryApi): boolean =>
  api.list('modeldeployments.berth.dev').every(isSettled) &&
  api.list('apikeys.berth.dev').every((key) => isObserved(key, 'Ready')) &&
  api.list('storagecredentials.berth.dev').every((credential) => isObserved(credential, 'Verified')) &&
  api.list('workspaces.berth.dev').every((workspace) => isObserved(workspace, 'Ready'));

/** Resolves when everything is known, or after the timeout. */
export const waitForObjects = (api: MemoryApi, timeoutMs: number): Promise<void> =>
  waitUntilStored(api, () => isDone(api), timeoutMs);

/** Waits for one deployment, however long it loads, and reports why it waits. Throws with the reason as soon as its engine has failed. */
export async function waitForModel(
  api: MemoryApi,
  at: { namespace: string; name: string },
  report: (reason: string) => void,
): Promise<void> {
  let [phase, reported] = ['', ''];
  const hasSettled = () => {
    const model = api.find('modeldeployments.berth.dev', at);
    // A status of the former spec says nothing.
    if (!model || !isObserved(model, 'Ready')) return false;
    phase = (model.status as { phase?: string }).phase ?? '';
    if (SETTLED.has(phase)) return true;
    const [reason = ''] = (readCondition(model, 'Ready')?.message ?? '').split('\n');
    if (reason !== '' && reason !== reported) report(reason);
    reported = reason;
    return false;
  };
  await waitUntilStored(api, hasSettled);
  if (phase === 'Ready') return;
  const obstacle = listObstacles(api).find(
    ({ kind, name }) => kind === 'ModelDeployment' && name === at.name,
  );
  throw new Error(`${at.name} does not start: ${obstacle?.reason}: ${obstacle?.message}`);
}

/** Resolves when `isDone`, which only changes with an object, or after the timeout if there is one. */
async function waitUntilStored(api: MemoryApi, isDone: () => boolean, timeoutMs?: number): Promise<void> {
  if (isDone()) return;
  await new Promise<void>((resolve) => {
    let isDue = false;
    const stopListening = api.store.listen(() => {
      if (isDue) return;
      isDue = true;
      setImmediate(() => {
        isDue = false;
        if (isDone()) end();
      });
    });
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(), timeoutMs);
    function end(): void {
      clearTimeout(timer);
      stopListening();
      resolve();
    }
  });
}

/** Whatever does not serve, and why. */
export function listObstacles(api: MemoryApi): Obstacle[] {
  const models = api.list('modeldeployments.berth.dev').flatMap((model) => describe(model, 'Ready'));
  const credentials = api.list('storagecredentials.berth.dev').flatMap((one) => describe(one, 'Verified'));
  return [...models, ...credentials];
}

function describe(object: KubeObject, type: string): Obstacle[] {
  const condition = readCondition(object, type);
  if (condition?.status === 'True') return [];
  const { kind, metadata } = object;
  const { reason = 'Unknown', message = 'the operator has not reconciled it yet' } = condition ?? {};
  return [{ kind, namespace: metadata.namespace!, name: metadata.name, reason, message }];
}
