/** Initial objects of the cluster. */
import { cpSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { runCommand } from './commands.ts';
import { NODE_NAME } from './layout.ts';
import { VOLUME_COUNT, volumeFolder } from './node-files.ts';

/** The default ingress class and storage class, the gateway class, and volumes for claims to bind to. */
export function baseManifests(folder: string): object {
  const volumes = Array.from({ length: VOLUME_COUNT }, (_, index) => volumeOf(folder, index));
  return { apiVersion: 'v1', kind: 'List', items: [INGRESS_CLASS, GATEWAY_CLASS, STORAGE_CLASS, ...volumes] };
}

/** The folder of the Gateway API's definitions, in the version that the ingress controller was written for. */
export async function findGatewayDefinitions(): Promise<string> {
  const cached = join(CACHE_FOLDER, `gateway-api-${GATEWAY_API.split('@')[1]}`);
  if (existsSync(cached)) return cached;
  const command = ['go', 'mod', 'download', '-json', GATEWAY_API];
  const { Dir } = JSON.parse(await runCommand(command, { cwd: tmpdir() }));
  cpSync(join(Dir, 'config', 'crd', 'standard'), cached, { recursive: true });
  return cached;
}

const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.4.0';

const GATEWAY_CLASS = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'traefik' },
  spec: { controllerName: 'traefik.io/gateway-controller' },
};

const INGRESS_CLASS = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'traefik', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
  spec: { controller: 'traefik.io/ingress-controller' },
};

const STORAGE_CLASS = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'local', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
};

const volumeOf = (folder: string, index: number) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `local-${index}` },
  spec: {
    capacity: { storage: '100Gi' },
    accessModes: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'],
    persistentVolumeReclaimPolicy: 'Retain',
    storageClassName: 'local',
    local: { path: volumeFolder(folder, index) },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }] },
        ],
      },
    },
  },
});
