/** Dependencies of reconciling a ModelDeployment. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Fits } from '../fit/fits.ts';
import type { ReconcileContext } from '../framework/reconciler.ts';
import type { BuildContext, BuiltChildren } from '../resources/children.ts';
import type { Scaler } from '../scaling/scaler.ts';
import type { SidecarRollout } from '../sidecar/rollout.ts';
import type { Evictions } from './evictions.ts';
import type { ModelStore } from './model-store.ts';
import type { QuotaReasons } from './quota-reasons.ts';
import type { SecretKeys } from './secret-keys.ts';

export interface ModelContext extends ReconcileContext {
  models: ModelStore;
  secretKeys: SecretKeys;
  evictions: Pick<Evictions, 'inVain' | 'delete'>;
  quotaReasons: Pick<QuotaReasons, 'read'>;
  fits: Pick<Fits, 'evaluate' | 'delete'>;
  build: (model: ModelDeployment, context?: BuildContext) => BuiltChildren;
  scaler: Pick<Scaler, 'wantedOf' | 'statusOf' | 'adopt' | 'settle' | 'delete'>;
  sidecars: Pick<SidecarRollout, 'grantOf' | 'note' | 'delete' | 'includes'>;
}
