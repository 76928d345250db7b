/** What the playground of each kind of deployment is given. */
import type { DeploymentView } from '../../api.ts';
import type { Permission } from '../parts/allowed-button.tsx';

export interface PlaygroundProps {
  deployment: DeploymentView;
  permission: Permission;
  /** False while another tab is shown. */
  isShown: boolean;
}
