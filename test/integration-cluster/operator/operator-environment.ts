/** The variables with which tests start the operator as a process. */

import { FRONT_SERVICE, SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import type { Harness } from './operator-harness.ts';

export const operatorEnvironment = (
  { api, server }: Harness,
  { secretFolder, port }: { secretFolder: string; port: number },
): Record<string, string> => ({
  KUBECONFIG: api.controlPlane.kubeconfig,
  OPERATOR_POD_NAME: 'operator-1',
  OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
  OPERATOR_DOMAIN: 'example.test',
  OPERATOR_INGRESS_CLASS: 'test',
  OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
  OPERATOR_GATEWAY_IMAGE: 'berth/berth:test',
  OPERATOR_SIMULATOR_IMAGE: 'berth/simulator:test',
  OPERATOR_REDIS_URL: server.url,
  OPERATOR_SECRET_PATH: secretFolder,
  OPERATOR_PORT: String(port),
});
