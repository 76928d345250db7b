/** The configuration files of the node's components. JSON is YAML, too. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTAINERD_SOCKET, NODE_IP, NODE_NAME, NODE_POD_RANGE, POD_RANGE } from './layout.ts';
import { cgroupRoot } from './namespaces.ts';

export const PAUSE_IMAGE = 'localhost/berth-pause:1';
export const VOLUME_COUNT = 20;

export interface NodeFileOptions {
  name: string;
  folder: string;
  domain: string;
}

/** Writes what the components read when they start. */
export function writeNodeFiles(options: NodeFileOptions): void {
  const { folder } = options;
  mkdirSync(join(folder, 'cni'), { recursive: true });
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  write('containerd.toml', formatContainerd(folder));
  write('cni/10-bridge.conflist', JSON.stringify(networkOf(folder), null, 2));
  write('kubelet.yaml', JSON.stringify(kubeletOf(options), null, 2));
  write('proxy.yaml', JSON.stringify(proxyOf(folder), null, 2));
  write('empty', '');
  write('Corefile', formatCorefile(options));
  write('unhealthy-gpus', '');
  makeVolumeFolders(folder);
}

export const volumeFolder = (folder: string, index: number): string =>
  join(folder, 'volumes', `volume-${index}`);

function makeVolumeFolders(folder: string): void {
  for (let index = 0; index < VOLUME_COUNT; index++) {
    mkdirSync(volumeFolder(folder, index), { recursive: true });
    // The kubelet does not apply fsGroup to host paths, and images run as many users.
    chmodSync(volumeFolder(folder, index), 0o777);
  }
}

const formatContainerd = (folder: string): string => `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE runc may not lower a score, and would end with an error that names a pipe.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
`;

const networkOf = (folder: string) => ({
  cniVersion: '1.0.0',
  name: 'berth',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: NODE_POD_RANGE }]],
        routes: [{ dst: '0.0.0.0/0' }],
        dataDir: join(folder, 'addresses'),
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

const kubeletOf = ({ name, folder }: NodeFileOptions) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  failCgroupV1: false,
  failSwapOn: false,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: cgroupRoot(name),
  enforceNodeAllocatable: [],
  authentication: {
    anonymous: { enabled: false },
    x509: { clientCAFile: `${folder}/pki/ca.crt` },
    webhook: { enabled: true },
  },
  authorization: { mode: 'Webhook' },
  tlsCertFile: `${folder}/pki/node.crt`,
  tlsPrivateKeyFile: `${folder}/pki/node.key`,
  clusterDomain: 'cluster.local',
  clusterDNS: [NODE_IP],
  containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
  resolvConf: `${folder}/empty`,
  // Images cannot be pulled again, so none is ever collected.
  imageGCHighThresholdPercent: 100,
  evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '100Mi' },
  localStorageCapacityIsolation: false,
  maxPods: 250,
  serializeImagePulls: false,
  nodeStatusUpdateFrequency: '2s',
});

const proxyOf = (folder: string) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'iptables',
  clientConnection: { kubeconfig: `${folder}/kubeconfigs/proxy` },
  hostnameOverride: NODE_NAME,
  clusterCIDR: POD_RANGE,
  conntrack: { maxPerCore: 0 },
  iptables: { minSyncPeriod: '100ms' },
});

/** Names of the cluster, the wildcard of the ingress domain, and nothing of the world outside. */
const formatCorefile = ({ folder, domain }: NodeFileOptions): string => `
cluster.local 10.in-addr.arpa {
  errors
  kubernetes cluster.local 10.in-addr.arpa {
    kubeconfig ${folder}/kubeconfigs/admin berth
    ttl 1
  }
}
${domain} {
  template IN A {
    answer "{{ .Name }} 5 IN A ${NODE_IP}"
  }
  template IN ANY {
    rcode NOERROR
  }
}
. {
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
