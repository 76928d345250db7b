/** The part of a pod that the local node reads. */
import type { KubeObject } from '../../kube/object.ts';

export interface Probe {
  httpGet?: {
    path?: string;
    port: number | string;
    scheme?: string;
    httpHeaders?: { name: string; value: string }[];
  };
  tcpSocket?: { port: number | string };
  exec?: { command: string[] };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
  successThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    secretKeyRef?: { name: string; key: string; optional?: boolean };
    configMapKeyRef?: { name: string; key: string; optional?: boolean };
    resourceFieldRef?: object;
  };
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  envFrom?: {
    prefix?: string;
    secretRef?: { name: string; optional?: boolean };
    configMapRef?: { name: string; optional?: boolean };
  }[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; subPath?: string }[];
  restartPolicy?: string;
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop?: { httpGet?: Probe['httpGet']; exec?: { command: string[] } } };
}

interface Items {
  items?: { key: string; path: string }[];
}

export interface Volume {
  name: string;
  secret?: Items & { secretName: string; optional?: boolean };
  configMap?: Items & { name: string; optional?: boolean };
  projected?: {
    sources: {
      secret?: Items & { name: string; optional?: boolean };
      configMap?: Items & { name: string; optional?: boolean };
    }[];
  };
  emptyDir?: object;
  hostPath?: { path: string };
  persistentVolumeClaim?: { claimName: string };
  [kind: string]: unknown;
}

export interface PodSpec {
  nodeName?: string;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
  terminationGracePeriodSeconds?: number;
}

export interface Pod extends KubeObject {
  spec: PodSpec;
}
