/** What the tests of this folder share: an API server, a namespace each, clients that count. */
import { randomBytes } from 'node:crypto';
import { createKubeClient, type KubeClient, type RequestSample } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';

export interface Api {
  readonly controlPlane: ControlPlane;
  /** A client, closed after the file's tests, with the calls that it has made. */
  connect(options?: { server?: string; maxConnections?: number; timeoutMs?: number }): CountingClient;
  makeNamespace(): Promise<string>;
}

export type CountingClient = KubeClient & { calls: RequestSample[]; count(verb: string): number };

interface ApiOptions {
  /** Further flags of kube-apiserver. */
  listFlags?: (() => Promise<string[]>) | undefined;
  /** The kube-apiserver of another version. */
  program?: string | undefined;
}

/** Starts a control plane before the tests of a `describe` and ends it after them. */
export function useApi({ listFlags = async () => [], program }: ApiOptions = {}): Api {
  let controlPlane: ControlPlane;
  const clients: KubeClient[] = [];
  before(async function () {
    this.timeout(120_000);
    controlPlane = await startControlPlane(await listFlags(), program);
  });
  after(async function () {
    this.timeout(30_000);
    await Promise.all(clients.map((client) => client.close()));
    await controlPlane?.close();
  });
  const connect: Api['connect'] = ({ server, ...options } = {}) => {
    const config = loadKubeConfig({ file: controlPlane.kubeconfig });
    const cluster = config.getCurrentCluster()!;
    if (server) config.loadFromClusterAndUser({ ...cluster, server }, config.getCurrentUser()!);
    const calls: RequestSample[] = [];
    const client = createKubeClient({ config, ...options, onRequest: (sample) => calls.push(sample) });
    clients.push(client);
    return {
      ...client,
      calls,
      count: (verb: string) => calls.filter((sample) => sample.verb === verb).length,
    };
  };
  return {
    get controlPlane() {
      return controlPlane;
    },
    connect,
    async makeNamespace() {
      const name = `test-${randomBytes(4).toString('hex')}`;
      await connect().create(RESOURCES.Namespace, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      });
      return name;
    },
  };
}

export function configMap(namespace: string, name: string, data: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}
