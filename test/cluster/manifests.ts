/** What is in the cluster before anybody puts anything there. */
import { NODE_NAME } from './layout.ts';
import { VOLUME_COUNT, volumeFolder } from './node-files.ts';

/** The default ingress class and storage class, and volumes for claims to bind to. */
export function baseManifests(folder: string): object {
  const volumes = Array.from({ length: VOLUME_COUNT }, (_, index) => volumeOf(folder, index));
  return { apiVersion: 'v1', kind: 'List', items: [INGRESS_CLASS, STORAGE_CLASS, ...volumes] };
}

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
