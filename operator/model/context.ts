/** Dependencies of reconciling a ModelDeployment. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Fits } from '../fit/fits.ts';
import type { ReconcileContext } from '../framework/reconciler.ts';
import type { BuildContext, BuiltChildren } from '../resources/children.ts';
import type { Scaler } from '../scaling/scaler.ts';
import type { SidecarRollout } from '../sidecar/rollout.ts';
import type { ModelStore } from './model-store.ts';
import type { SecretKeys } from './secret-keys.ts';

export interface ModelContext extends ReconcileContext {
  models: ModelStore;
  secretKeys: SecretKeys;
  fits: Pick<Fits, 'evaluate' | 'delete'>;
  build: (model: ModelDeployment, context?: BuildContext) => BuiltChildren;
  scaler: Pick<Scaler, 'wantedOf' | 'statusOf' | 'adopt' | 'settle' | 'delete'>;
  sidecars: Pick<SidecarRollout, 'grantOf' | 'note' | 'delete' | 'includes'>;
}
