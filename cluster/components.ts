/** The programs of the bundled cluster and their arguments, in the order in which they start. */
import { join } from 'node:path';
import { ensureBinary } from './binaries.ts';
import { API_URL, type Cluster, NODE_IP, NODE_NAME, SERVICE_RANGE } from './layout.ts';
import type { DaemonCommand } from './processes.ts';

interface Component {
  name: string;
  args: (cluster: Cluster) => string[];
  /** Where it runs, in the project's folder. */
  folder?: string;
  env?: (cluster: Cluster) => Record<string, string>;
}

const ETCD_URL = 'http://127.0.0.1:2379';

/** These start first; the others need the API server. */
export const BASE_COMPONENTS = ['etcd', 'kube-apiserver', 'containerd'];

const COMPONENTS: Component[] = [
  {
    name: 'etcd',
    args: ({ stateFolder }) => [
      `--data-dir=${stateFolder}/etcd`,
      `--listen-client-urls=${ETCD_URL}`,
      `--advertise-client-urls=${ETCD_URL}`,
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--unsafe-no-fsync',
    ],
  },
  {
    name: 'kube-apiserver',
    args: ({ stateFolder }) => [
      `--etcd-servers=${ETCD_URL}`,
      `--client-ca-file=${stateFolder}/pki/ca.crt`,
      `--tls-cert-file=${stateFolder}/pki/apiserver.crt`,
      `--tls-private-key-file=${stateFolder}/pki/apiserver.key`,
      `--service-account-key-file=${stateFolder}/pki/accounts.pub`,
      `--service-account-signing-key-file=${stateFolder}/pki/accounts.key`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-cluster-ip-range=${SERVICE_RANGE}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--advertise-address=${NODE_IP}`,
      `--secure-port=${new URL(API_URL).port}`,
      `--kubelet-client-certificate=${stateFolder}/pki/apiserver-kubelet.crt`,
      `--kubelet-client-key=${stateFolder}/pki/apiserver-kubelet.key`,
      `--kubelet-certificate-authority=${stateFolder}/pki/ca.crt`,
      '--kubelet-preferred-address-types=InternalIP',
      '--allow-privileged=true',
    ],
  },
  { name: 'containerd', args: ({ stateFolder }) => [`--config=${stateFolder}/containerd.toml`] },
  {
    name: 'kube-controller-manager',
    args: ({ stateFolder }) => [
      ...kubeconfigs(stateFolder, 'controllers'),
      `--service-account-private-key-file=${stateFolder}/pki/accounts.key`,
      `--root-ca-file=${stateFolder}/pki/ca.crt`,
      `--cluster-signing-cert-file=${stateFolder}/pki/ca.crt`,
      `--cluster-signing-key-file=${stateFolder}/pki/ca.key`,
      '--use-service-account-credentials',
      '--leader-elect=false',
      // Otherwise it loses its lease in an outage of the API server: restarted, it resets the nodes' grace periods.
      '--node-monitor-grace-period=3m',
    ],
  },
  {
    name: 'kube-scheduler',
    args: ({ stateFolder }) => [...kubeconfigs(stateFolder, 'scheduler'), '--leader-elect=false'],
  },
  {
    name: 'kubelet',
    args: ({ stateFolder }) => [
      `--kubeconfig=${stateFolder}/kubeconfigs/node`,
      `--config=${stateFolder}/kubelet.yaml`,
      `--hostname-override=${NODE_NAME}`,
      `--node-ip=${NODE_IP}`,
      '--v=2',
    ],
  },
  { name: 'kube-proxy', args: ({ stateFolder }) => [`--config=${stateFolder}/proxy.yaml`] },
  {
    name: 'coredns',
    args: ({ stateFolder }) => ['-conf', join(stateFolder, 'Corefile')],
  },
  {
    name: 'traefik',
    // It looks for plugins in its working directory.
    folder: 'cluster/traefik',
    args: () => [
      `--entrypoints.web.address=${NODE_IP}:80`,
      // By default an upload of more than a minute is aborted.
      '--entrypoints.web.transport.respondingtimeouts.readtimeout=300s',
      // Otherwise a busy node cuts streams: see the plugin.
      '--experimental.localplugins.whole-body.modulename=berth.dev/whole-body',
      '--entrypoints.web.http.middlewares=whole-body@file',
      '--providers.file.filename=middlewares.yaml',
      '--providers.kubernetesingress',
      `--providers.kubernetesingress.ingressendpoint.ip=${NODE_IP}`,
      '--providers.kubernetesgateway',
      `--providers.kubernetesgateway.statusaddress.ip=${NODE_IP}`,
      '--log.level=INFO',
      '--accesslog',
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
    ],
    env: ({ kubeconfig }) => ({ KUBECONFIG: kubeconfig }),
  },
  {
    name: 'deviceplugin',
    args: ({ gpus, stateFolder }) => [`-count=${gpus}`, `-unhealthy-file=${unhealthyFile(stateFolder)}`],
  },
];

export const COMPONENT_NAMES = COMPONENTS.map(({ name }) => name);

/** Not built here: it comes from the system's packages. */
const SYSTEM_PROGRAMS = ['containerd'];
/** Programs that are built for a cluster. */
export const CLUSTER_PROGRAMS = [
  ...COMPONENT_NAMES.filter((name) => !SYSTEM_PROGRAMS.includes(name)),
  'kubectl',
  'pause',
];

export const unhealthyFile = (stateFolder: string): string => join(stateFolder, 'unhealthy-gpus');

/** How a component is started. Throws if there is none with that name. */
export async function componentCommand(cluster: Cluster, name: string): Promise<DaemonCommand> {
  const component = COMPONENTS.find((candidate) => candidate.name === name);
  if (!component) throw new Error(`no component ${name}; there are ${COMPONENT_NAMES.join(', ')}`);
  const program = SYSTEM_PROGRAMS.includes(name) ? name : await ensureBinary(name);
  return {
    name,
    argv: [
      ...cluster.exec,
      ...(component.folder ? ['env', `--chdir=${component.folder}`] : []),
      program,
      ...component.args(cluster),
    ],
    env: component.env?.(cluster) ?? {},
  };
}

const kubeconfigs = (stateFolder: string, name: string): string[] =>
  ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
    (flag) => `--${flag}=${stateFolder}/kubeconfigs/${name}`,
  );
