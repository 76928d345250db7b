/** The only place that names things: objects, labels, annotations, ports, hosts. */
import { createHash } from 'node:crypto';

/** Which ModelDeployment. */
export interface DeploymentName {
  namespace: string;
  name: string;
}

/** The API group of Berth's resources. */
export const GROUP = 'berth.dev';
/** Berth's version: of the chart, the images and `status.sidecarVersion`. */
export const VERSION = '0.1.0';

export const FINALIZER = `${GROUP}/cleanup`;
export const FIELD_MANAGER = 'berth-operator';
export const STATUS_FIELD_MANAGER = 'berth-operator-status';
/** Only for `spec.replicas`, if a deployment is scaled. */
export const SCALER_FIELD_MANAGER = 'berth-scaler';
export const MANAGED_BY = 'berth';

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  /** Name of the ModelDeployment that a child belongs to. */
  deployment: `${GROUP}/deployment`,
  kind: `${GROUP}/kind`,
  /** `true` on pods whose metrics port relays the engine's own metrics. */
  engineMetrics: `${GROUP}/engine-metrics`,
} as const;

export const ANNOTATIONS = {
  /** Hash of the spec fields that determine the pod template. */
  templateInputs: `${GROUP}/template-inputs`,
  /** The template as it was last applied: kept while its inputs are unchanged, so an upgrade restarts nothing. */
  template: `${GROUP}/template`,
  sidecarVersion: `${GROUP}/sidecar-version`,
  /** On a Deployment whose sidecar the operator rolled by itself: to which revision, and when (RFC 3339). */
  sidecarRevision: `${GROUP}/sidecar-revision`,
  sidecarRolledAt: `${GROUP}/sidecar-rolled-at`,
  /** On a ModelDeployment: `disabled` keeps it from the installation's sidecar rollout. */
  sidecarRollout: `${GROUP}/sidecar-rollout`,
  /** On the ConfigMap that reports a stopped sidecar rollout: `true` resumes it. */
  resume: `${GROUP}/resume`,
  /** On pods: `rollout.revision`, any change of which rolls them. */
  revision: `${GROUP}/revision`,
  /** Kubernetes' own: which pods of a Deployment are removed first. */
  deletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  /** On a Job that downloads weights ahead: hash of what it downloads. */
  prefetched: `${GROUP}/prefetched`,
  reEnable: `${GROUP}/re-enable`,
  /** On a StorageCredential: a new value triggers a check of its bucket. */
  verify: `${GROUP}/verify`,
  /** On a ControllerRevision: the field manager that wrote its spec, and when (RFC 3339). */
  changedBy: `${GROUP}/changed-by`,
  changedAt: `${GROUP}/changed-at`,
  /** On what the console writes with its own token: the requesting user. */
  madeFor: `${GROUP}/made-for`,
  /** On an APIKey created in the console: by which user. */
  createdBy: `${GROUP}/created-by`,
  rolledBy: `${GROUP}/rolled-by`,
  /** On a Workspace: a new value makes the operator read its signing secret at once. */
  rolledAt: `${GROUP}/rolled-at`,
} as const;

/** Labels of Kueue. */
export const KUEUE = {
  prefix: 'kueue.x-k8s.io/',
  /** The LocalQueue of a pod. */
  queue: 'kueue.x-k8s.io/queue-name',
  /** The WorkloadPriorityClass of a pod. */
  priority: 'kueue.x-k8s.io/priority-class',
  /** On a Workload: the uid of its pod. */
  podUID: 'kueue.x-k8s.io/job-uid',
} as const;

/** Container names within a model pod. */
export const CONTAINERS = { gateway: 'gateway', engine: 'engine' } as const;

/** Ports of the gateway in every role; the engine's own is in the spec. */
export const PORTS = { http: 8080, admin: 8081, internal: 8082, metrics: 9090 } as const;
export const HTTP_PORT_NAME = 'http';

/** Where the sidecar's Secret is mounted, and its files. */
export const SIDECAR_SECRET_PATH = '/etc/berth';
export const SIDECAR_SECRET_FILES = {
  config: 'config.json',
  redisUsername: 'redis-username',
  redisPassword: 'redis-password',
  /** Authorities that verify Redis' certificate; the system's if there is no such file. */
  redisCA: 'redis-ca.crt',
  peerToken: 'peer-token',
  /** Proves the workspace to the front's storage service. */
  storageToken: 'storage-token',
  /** First digits of the workspace's request ids. */
  requestPrefix: 'request-prefix',
} as const;

/** Files of the front's Secret, and of the folder that `make run` keeps. */
export const FRONT_SECRET_FILES = {
  masterKey: 'master-key',
  redisUsername: 'redis-username',
  redisPassword: 'redis-password',
  redisCA: SIDECAR_SECRET_FILES.redisCA,
  s3AccessKeyId: 's3-access-key-id',
  s3SecretAccessKey: 's3-secret-access-key',
  /** smtp://user:password@host:587; none: no e-mail is sent. */
  smtpURL: 'smtp-url',
} as const;

/** Names of the Secrets that Berth creates in a workspace: engines must not use them. */
export const SIDECAR_SECRET_SUFFIX = '-gateway';
export const API_KEY_SECRET_SUFFIX = '-api-key';

/** Names of a deployment's children; `name` has at most 45 characters, so that all fit. */
export const childNames = (name: string) => ({
  deployment: name,
  service: name,
  route: name,
  frontSlice: `${name}-front`,
  disruptionBudget: name,
  networkPolicy: name,
  sidecarSecret: `${name}${SIDECAR_SECRET_SUFFIX}`,
  cacheClaim: `${name}-weights`,
  prefetchJob: `${name}-prefetch`,
});

export const apiKeySecretName = (name: string) => `${name}${API_KEY_SECRET_SUFFIX}`;
export const API_KEY_SECRET_FIELD = 'api-key';
export const SIGNING_SECRET_NAME = 'berth-signing-secret';
export const SIGNING_SECRET_FIELD = 'secret';

/** Labels that select a deployment's pods, and nothing else. */
export const podSelector = (name: string) => ({ [LABELS.deployment]: name, [LABELS.component]: 'model' });

const MAX_DNS_LABEL = 63;

/**
 * `<name>--<namespace>.<domain>`: one DNS label, so that one wildcard certificate covers all. A label that is too long, or could
 * be another's since a name contains `--`, ends with a hash after a second `--`, which no other label has.
 */
export function defaultHost(name: string, namespace: string, domain: string): string {
  const label = `${name}--${namespace}`;
  const isAmbiguous = name.includes('--') || namespace.includes('--');
  if (label.length <= MAX_DNS_LABEL && !isAmbiguous) return `${label}.${domain}`;
  const hash = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, HASH_DIGITS);
  const [shortName, shortNamespace] = [name, namespace].map((part) => part.replaceAll(/-{2,}/g, '-'));
  const readable = `${shortName}--${shortNamespace}`.slice(0, MAX_DNS_LABEL - HASH_DIGITS - 2);
  return `${readable.replace(/-+$/, '')}--${hash}.${domain}`;
}

/** 48 bits: collisions are infeasible. */
const HASH_DIGITS = 12;

/** With `true`, a client requests a receipt. */
export const RECEIPT_HEADER = 'x-berth-receipt';
/** Names the deployment that answered, where several versions share a URL. */
export const VERSION_HEADER = 'x-berth-version';
