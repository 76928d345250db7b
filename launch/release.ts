/** Berth's Helm release in the cluster of `make cluster`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBinary } from '../cluster/binaries.ts';
import { readImageId } from '../cluster/image-build.ts';
import { projectImages } from '../cluster/images.ts';
import type { Cluster } from '../cluster/layout.ts';
import { BUCKET, INTERNAL_URL, publicURL, readServiceAddress } from './cluster-storage.ts';
import { runInCluster } from './kubectl.ts';

export const RELEASE = 'berth';
export const RELEASE_NAMESPACE = 'berth';
/** Namespaces of the examples. */
export const WORKSPACES = { own: 'default', other: 'other', exhausted: 'spent' } as const;
const SMALL = { cpu: '20m', memory: '96Mi' };

/** Installs or upgrades the release and waits until its pods are ready. `changes` override the usual values. */
export async function installRelease(cluster: Cluster, changes: object = {}): Promise<void> {
  const values = join(cluster.stateFolder, 'values.json');
  writeFileSync(values, JSON.stringify({ ...(await chooseValues(cluster)), ...changes }, null, 2));
  await runHelm(cluster, [
    'upgrade',
    '--install',
    RELEASE,
    'charts/berth',
    '--create-namespace',
    '--wait',
    '--timeout=4m',
    '--values',
    values,
  ]);
}

/** Runs helm in the release's namespace; throws with its output. It writes only to the cluster's folder. */
export async function runHelm(cluster: Cluster, args: string[]): Promise<string> {
  const helm = await ensureBinary('helm');
  const home = join(cluster.stateFolder, 'helm');
  mkdirSync(home, { recursive: true });
  const env = ['CACHE', 'CONFIG', 'DATA'].map((part) => `HELM_${part}_HOME=${home}`);
  return runInCluster(cluster, [
    'env',
    `KUBECONFIG=${cluster.kubeconfig}`,
    ...env,
    helm,
    ...args,
    '--namespace',
    RELEASE_NAMESPACE,
  ]);
}

async function chooseValues(cluster: Cluster): Promise<object> {
  // Images have no registry here, so tags do not show changes: these annotations roll the pods.
  const ids = await Promise.all(projectImages().map(({ name }) => readImageId(name)));
  const podAnnotations = { 'berth.dev/image': ids.join(' ') };
  return {
    image: { repository: 'localhost/berth/berth', pullPolicy: 'Never' },
    engines: { simulator: { repository: 'localhost/berth/simulator' } },
    ingress: { domain: cluster.domain, className: 'traefik', preset: 'traefik' },
    // The control ports of simulators are reached on the pods' addresses.
    networkPolicies: { enabled: false },
    storage: {
      bucket: BUCKET,
      endpoint: INTERNAL_URL,
      publicEndpoint: publicURL(cluster),
      secretName: 'berth-storage',
    },
    // Berth's own programs use TLS; `redisURL` in the endpoints file is for tools without our CA.
    redis: { bundled: { tls: { plaintext: true } } },
    // A customer's bucket is in the cluster here, and receivers of webhooks are on its node.
    egress: {
      allow: [await readServiceAddress(cluster), cluster.nodeIP].map((address) => `${address}/32`),
      plainHTTP: true,
    },
    operator: { podAnnotations },
    front: { podAnnotations, resources: { requests: SMALL } },
    // There is no certificate in front of it here.
    console: { podAnnotations, plainHTTP: true, resources: { requests: SMALL } },
    // A dozen models fit on a node of two cores.
    gateway: { resources: { requests: SMALL } },
  };
}
