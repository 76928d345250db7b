/** Dependencies of reconciling a ModelDeployment. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { DeploymentSample } from '../../redis/demand/demand.ts';
import type { Fits } from '../fit/fits.ts';
import type { ReconcileContext } from '../framework/reconciler.ts';
import type { ServedAdapter } from '../resources/adapters.ts';
import type {
  AdapterBuild,
  BuildContext,
  BuiltChildren,
  buildAdapterChildren,
} from '../resources/children.ts';
import type { Scaler } from '../scaling/scaler.ts';
import type { SidecarRollout } from '../sidecar/rollout.ts';
import type { Evictions } from './evictions.ts';
import type { ModelStore } from './model-store.ts';
import type { QuotaReasons } from './quota-reasons.ts';
import type { SecretKeys } from './secret-keys.ts';

export interface ModelContext extends ReconcileContext {
  models: ModelStore;
  secretKeys: SecretKeys;
  evictions: Pick<Evictions, 'inVain' | 'reset' | 'delete'>;
  quotaReasons: Pick<QuotaReasons, 'read'>;
  fits: Pick<Fits, 'evaluate' | 'delete'>;
  build: (model: ModelDeployment, context?: BuildContext) => BuiltChildren;
  buildAdapter: (served: ServedAdapter, build: AdapterBuild) => ReturnType<typeof buildAdapterChildren>;
  /** What replicas report about an adapter, by its key; `pods`: those of its base. Throws while Redis is down. */
  readAdapter: (key: string, pods: number) => Promise<DeploymentSample | undefined>;
  scaler: Pick<Scaler, 'wantedOf' | 'statusOf' | 'adopt' | 'settle' | 'delete'>;
  sidecars: Pick<SidecarRollout, 'grantOf' | 'note' | 'delete' | 'includes'>;
}
