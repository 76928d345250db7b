/** What the playground of each kind of deployment is given. */
import type { DeploymentView } from '../../api.ts';
import type { Permission } from '../parts/allowed-button.tsx';

export interface PlaygroundProps {
  deployment: DeploymentView;
  /** Path of the deployment's endpoint, with /v1. */
  path: string;
  permission: Permission;
  /** False while another tab is shown. */
  isShown: boolean;
}
