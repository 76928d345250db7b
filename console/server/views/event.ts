/** Events that Kubernetes keeps for an hour, as the page shows them. Pure. */
import { z } from 'zod';
import { GROUP } from '../../../api/names.ts';
import type { EventView, NoteView } from '../../api.ts';
import type { KubeObject } from '../kubernetes/object.ts';

const text = z.string().catch('');
const event = z.object({
  metadata: z.object({ creationTimestamp: text }),
  involvedObject: z.object({ apiVersion: text, kind: text, name: text }),
  type: text,
  reason: text,
  message: text,
  reportingComponent: text,
  source: z.object({ component: text }).nullish().catch(null),
  count: z.number().nullish().catch(null),
  lastTimestamp: z.string().nullish().catch(null),
  eventTime: z.string().nullish().catch(null),
  series: z
    .object({ count: z.number().catch(1), lastObservedTime: text })
    .nullish()
    .catch(null),
});
type Event = z.infer<typeof event>;

/** Common to all views of an event. */
const describe = ({ metadata, type, reason, message, count, ...rest }: Event) => ({
  at: rest.series?.lastObservedTime || rest.lastTimestamp || rest.eventTime || metadata.creationTimestamp,
  isWarning: type === 'Warning',
  reason,
  message,
  count: rest.series?.count ?? count ?? 1,
});

/** Such as `chat-6d5f8b-x2x7p`: of a Deployment's ReplicaSet. */
const podNameOf = (deployment: string): RegExp =>
  new RegExp(`^${deployment.replaceAll('.', '\\.')}-[a-z0-9]+-[a-z0-9]{5}$`);

/** A view of events about the deployment and its pods, including deleted pods; undefined for others. */
export function describeEventsOf(deployment: string): (object: KubeObject) => EventView | undefined {
  const podName = podNameOf(deployment);
  return (object) => {
    const { data } = event.safeParse(object);
    if (!data) return undefined;
    const { kind, name } = data.involvedObject;
    const isOurs =
      (kind === 'ModelDeployment' && name === deployment) || (kind === 'Pod' && podName.test(name));
    return isOurs ? { ...describe(data), object: kind === 'Pod' ? `Pod ${name}` : 'Deployment' } : undefined;
  };
}

/** Events about Berth's objects, with the reporting program; undefined for others. */
export function describeNote(object: KubeObject): NoteView | undefined {
  const { data } = event.safeParse(object);
  if (!data?.involvedObject.apiVersion.startsWith(`${GROUP}/`)) return undefined;
  const { kind, name } = data.involvedObject;
  const program = data.reportingComponent || data.source?.component || '';
  return { type: 'event', ...describe(data), kind, object: name, program };
}
