/** The ConfigMap that holds why a rollout stopped, and whose annotation resumes it. Written only on changes. */
import { ANNOTATIONS } from '../../api/names.ts';
import type { ObjectName } from '../../kube/call.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { StopRecord } from './decision.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export interface StopFile {
  object: KubeObject;
  record: StopRecord;
  /** A resume was requested. */
  isResumeWanted: boolean;
}

type Client = Pick<KubeClient, 'find' | 'mergePatch'>;

/** Undefined if there is no such ConfigMap: the chart creates it. */
export async function readStopFile(
  client: Client,
  at: ObjectName,
  signal: AbortSignal,
): Promise<StopFile | undefined> {
  const object = await client.find<ConfigMap>(RESOURCES.ConfigMap, at, { signal });
  if (!object) return undefined;
  const { state, revision = '', reason = '', resumedAt = '' } = object.data ?? {};
  return {
    object,
    record: { isStopped: state === 'Stopped', revision, reason, resumedAt: Date.parse(resumedAt) || 0 },
    isResumeWanted: Boolean(object.metadata.annotations?.[ANNOTATIONS.resume]),
  };
}

export interface StopChange {
  record: StopRecord;
  /** Unix milliseconds. */
  now: number;
  signal: AbortSignal;
}

export async function writeStopFile(
  client: Client,
  at: ObjectName,
  { record, now, signal }: StopChange,
): Promise<void> {
  const { isStopped, revision, reason, resumedAt } = record;
  const data = {
    state: isStopped ? 'Stopped' : 'Running',
    since: new Date(now).toISOString(),
    revision,
    reason,
    resumedAt: resumedAt > 0 ? new Date(resumedAt).toISOString() : null,
  };
  const patch = { metadata: { annotations: { [ANNOTATIONS.resume]: null } }, data };
  await client.mergePatch(RESOURCES.ConfigMap, { at, patch, signal });
}
