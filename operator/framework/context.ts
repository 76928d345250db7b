/** What every reconciler works with. */
import type { Applier, StatusWriter } from '../../kube/apply.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventNote } from '../../kube/events.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { BuildSettings } from '../resources/settings.ts';
import type { ClusterView } from './cluster-view.ts';

/** What reconciling needs to know of the settings. */
export type ReconcileSettings = Pick<
  BuildSettings,
  | 'version'
  | 'namespace'
  | 'ingressClass'
  | 'gateway'
  | 'redisUsers'
  | 'externalRedisSecret'
  | 'masterKey'
  | 'egress'
  | 'readRedisCA'
>;

export interface ReconcileContext {
  client: KubeClient;
  view: ClusterView;
  applier: Applier;
  statusWriter: StatusWriter;
  record: (object: KubeObject, event: EventNote) => void;
  publisher: Publisher;
  settings: ReconcileSettings;
  /** Unix milliseconds. */
  now: () => number;
  log: Log;
}
