/** What a cluster has besides Kubernetes: names, an ingress controller, GPUs, volumes. */
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { downloadModule, keepFolder } from './binaries.ts';
import { runKubectl } from './kubectl.ts';
import { type Cluster, dataFolder, nodeNames } from './layout.ts';

const VOLUME_COUNT = 20;
/** In the node. */
const VOLUMES = '/var/lib/berth/volumes';

/** Applies all of it. */
export async function applyAddons(cluster: Cluster): Promise<void> {
  makeVolumeFolders(dataFolder(cluster.name));
  const apply = ['apply', '--server-side', '--force-conflicts', '-f'];
  await runKubectl(cluster, [...apply, await findGatewayDefinitions()]);
  await runKubectl(cluster, [...apply, '-'], JSON.stringify(listObjects(cluster)));
  await runKubectl(cluster, [...apply, join(import.meta.dirname, 'addons.yaml')]);
  const system = ['-n', 'kube-system'];
  // Faster than waiting until it has read its new configuration.
  await runKubectl(cluster, [...system, 'scale', 'deployment', 'coredns', '--replicas=1']);
  await runKubectl(cluster, [
    ...system,
    'delete',
    'pod',
    '-l',
    'k8s-app=kube-dns',
    '--force',
    '--wait=false',
  ]);
}

function makeVolumeFolders(folder: string): void {
  for (let index = 0; index < VOLUME_COUNT; index++) {
    const volume = join(folder, 'volumes', `volume-${index}`);
    mkdirSync(volume, { recursive: true });
    // The kubelet does not apply fsGroup to host paths, and images run as many users.
    chmodSync(volume, 0o777);
  }
}

/** The folder of the Gateway API's definitions, in the version that the ingress controller was written for. */
export const findGatewayDefinitions = (): Promise<string> =>
  keepFolder(join(CACHE_FOLDER, `gateway-api-${GATEWAY_API.split('@')[1]}`), async () =>
    join(await downloadModule(GATEWAY_API), 'config', 'crd', 'standard'),
  );

const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.4.0';

function listObjects(cluster: Cluster): object {
  const volumes = Array.from({ length: VOLUME_COUNT }, (_, index) => volumeOf(nodeNames(cluster), index));
  const items = [
    configMap('coredns', { Corefile: formatCorefile(cluster) }),
    configMap('gpus', { count: String(cluster.gpus) }),
    configMap('traefik', readTraefikFiles()),
    ...volumes,
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

const configMap = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'kube-system' },
  data,
});

function readTraefikFiles(): Record<string, string> {
  const read = (path: string) => readFileSync(join(import.meta.dirname, 'traefik', path), 'utf8');
  return {
    'middlewares.yaml': read('middlewares.yaml'),
    'traefik.yml': read('whole-body/.traefik.yml'),
    'whole_body.go': read('whole-body/whole_body.go'),
  };
}

/** All nodes see the same folders. */
const volumeOf = (nodes: string[], index: number) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `local-${index}` },
  spec: {
    capacity: { storage: '100Gi' },
    accessModes: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'],
    persistentVolumeReclaimPolicy: 'Retain',
    storageClassName: 'local',
    local: { path: `${VOLUMES}/volume-${index}` },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          {
            matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: nodes }],
          },
        ],
      },
    },
  },
});

/**
 * Names of the cluster, the wildcard of the ingress domain, and nothing of the world outside. The last has a block of its own:
 * in one block `template` answers before `kubernetes`, whatever their order.
 */
const formatCorefile = ({ domain, nodeIP }: Cluster): string => `
cluster.local:53 10.in-addr.arpa:53 {
  errors
  kubernetes cluster.local 10.in-addr.arpa {
    ttl 1
  }
}
${domain}:53 {
  template IN A {
    answer "{{ .Name }} 5 IN A ${nodeIP}"
  }
  template IN ANY {
    rcode NOERROR
  }
}
.:53 {
  health
  ready
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
