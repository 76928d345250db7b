/** What every reconciler works with. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Applier } from '../../kube/apply.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventNote } from '../../kube/events.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { StatusWriter } from '../../kube/status.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { BuildContext, BuiltChildren } from '../resources/built-children.ts';
import type { OperatorSettings } from '../settings.ts';
import type { SidecarRollout } from '../sidecar/rollout.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CredentialIndex } from './credential-index.ts';
import type { EndpointIndex } from './endpoint-index.ts';
import type { KeyIndex } from './key-index.ts';
import type { ModelIndex } from './model-index.ts';
import type { SecretKeys } from './secret-keys.ts';

/** What reconciling needs to know of the settings. */
export type ReconcileSettings = Pick<
  OperatorSettings,
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
  models: ModelIndex;
  keys: KeyIndex;
  credentials: CredentialIndex;
  endpoints: EndpointIndex;
  secretKeys: SecretKeys;
  applier: Applier;
  statusWriter: StatusWriter;
  record: (object: KubeObject, event: EventNote) => void;
  publisher: Publisher;
  build: (model: ModelDeployment, context?: BuildContext) => BuiltChildren;
  sidecars: Pick<SidecarRollout, 'grantOf' | 'note' | 'forget' | 'includes'>;
  settings: ReconcileSettings;
  /** Unix milliseconds. */
  now: () => number;
  log: Log;
}
