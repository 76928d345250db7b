/** A client with the rights of a service account, as a program in a pod has it. */
import { type ClientOptions, createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import { SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import type { ControlPlane } from '../../support/control-plane.ts';
import { createKubeRequest } from '../../support/kube-request.ts';

interface AccountOptions extends Pick<ClientOptions, 'onRequest'> {
  /** A relay in front of the API server, over plain HTTP. */
  server?: string;
}

/** Connects as an account of Berth's namespace. */
export async function connectAccount(
  controlPlane: ControlPlane,
  account: string,
  { server, ...options }: AccountOptions = {},
): Promise<KubeClient> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${account}/token`;
  const answer = await createKubeRequest(controlPlane)('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  const config = loadKubeConfig({ file: controlPlane.kubeconfig });
  const cluster = config.getCurrentCluster()!;
  config.loadFromClusterAndUser(server ? { ...cluster, server, skipTLSVerify: true } : cluster, {
    name: account,
    token: answer.body.status.token,
  });
  return createKubeClient({ config, ...options });
}
