/** Settings of an installation for the objects of all deployments. */
import type { V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import type { EnginePreset } from '../../api/engine-presets.ts';
import { ROUTE_PRESETS, ROUTE_VIA } from '../../api/model-route.ts';
import {
  egress,
  flag,
  json,
  list,
  logLevel,
  oneOf,
  origin,
  port,
  required,
  text,
  type ValuesOf,
} from '../../api/variables.ts';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import { SECURITY_PLATFORMS } from './security.ts';

export const REDIS_USER_MODES = ['managed', 'external', 'off'] as const;
export type RedisUserMode = (typeof REDIS_USER_MODES)[number];

export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'] as const;
export const URL_SCHEMES = ['http', 'https'] as const;

/** Groups of pod fields, as `podFields.everyone` of the chart names them. */
export const POD_FIELD_GROUPS = [
  'images',
  'secrets',
  'serviceAccounts',
  'volumes',
  'security',
  'metadata',
  'priority',
  'runtime',
  'placement',
] as const;
export type PodFieldGroup = (typeof POD_FIELD_GROUPS)[number];

export interface GatewayReference {
  name: string;
  namespace: string;
  sectionName?: string | undefined;
}

const GATEWAY_RESOURCES: V1ResourceRequirements = {
  requests: { cpu: '100m', memory: '256Mi' },
  // No CPU limit: throttling would increase latency at once.
  limits: { memory: '1Gi' },
};

/** Overrides of the presets' own images, by preset; those for AMD's GPUs by `<preset>-rocm`. */
type EngineImages = Readonly<Partial<Record<EnginePreset | `${EnginePreset}-rocm`, string>>>;

/** Settings that are one variable of the operator each. */
export const BUILD_VARIABLES = {
  namespace: required(text('OPERATOR_NAMESPACE', "Berth's own namespace, where the front is.")),
  domain: required(text('OPERATOR_DOMAIN', 'Domain of the endpoints: `<name>--<namespace>.<domain>`.')),
  urlScheme: oneOf('OPERATOR_URL_SCHEME', 'Scheme of `status.url`.', URL_SCHEMES, 'http'),
  urlPort: port('OPERATOR_URL_PORT', "Port of `status.url`; the scheme's if unset.", undefined, 1),
  ingressClass: text('OPERATOR_INGRESS_CLASS', "Default class of Ingresses; the cluster's default if unset."),
  routePreset: oneOf('OPERATOR_ROUTE_PRESET', 'Default of `spec.route.preset`.', ROUTE_PRESETS, 'none'),
  routeVia: oneOf('OPERATOR_ROUTE_VIA', 'Default of `spec.route.via`.', ROUTE_VIA, 'Direct'),
  allowedHosts: list(
    'OPERATOR_ALLOWED_HOSTS',
    'Hosts besides the default that a spec may use; `*.example.com` covers one label.',
  ),
  consoleHost: text(
    'OPERATOR_CONSOLE_HOST',
    'Reserved host of the console; unset without a console, or without a route to it.',
  ),
  documentationURL: text(
    'OPERATOR_DOCUMENTATION_URL',
    'Base URL of the published documentation, for `documentation_url` of errors; they have none if unset.',
  ),
  allowedAnnotations: list(
    'OPERATOR_ALLOWED_ANNOTATIONS',
    'Keys of `spec.route.annotations` that are passed on to the route.',
  ),
  frontTLSSecrets: list(
    'OPERATOR_FRONT_TLS_SECRETS',
    "Secrets in Berth's namespace that routes with `via: Front` may use for their certificate.",
  ),
  frontService: required(text('OPERATOR_FRONT_SERVICE', "Service of the front in Berth's namespace.")),
  frontServicePort: port('OPERATOR_FRONT_SERVICE_PORT', 'Port of that Service.', 80, 1),
  storageURL: origin('OPERATOR_STORAGE_URL', "Origin of the front's internal service; no storage if unset."),
  gatewayImage: required(text('OPERATOR_GATEWAY_IMAGE', 'Image of sidecars.')),
  gatewayResources: json(
    'OPERATOR_GATEWAY_RESOURCES',
    'Resources of sidecars, as of a container.',
    'object',
    GATEWAY_RESOURCES,
  ),
  gatewayLogLevel: logLevel('OPERATOR_GATEWAY_LOG_LEVEL', 'Least severe level that sidecars log.'),
  simulatorImage: text(
    'OPERATOR_SIMULATOR_IMAGE',
    'Image of the preset `simulator`; specs must give one if unset.',
  ),
  engineImages: json<EngineImages>(
    'OPERATOR_ENGINE_IMAGES',
    "Images that replace the presets', by preset; for AMD GPUs by the preset's name and -rocm.",
    'object',
    {},
  ),
  // rclone: a single static, well-maintained program that retries and verifies; runs as any user without a writable root.
  s3CopyImage: text(
    'OPERATOR_S3_COPY_IMAGE',
    'Image that copies weights from S3.',
    'docker.io/rclone/rclone:1.75.1',
  ),
  imagePullPolicy: oneOf(
    'OPERATOR_IMAGE_PULL_POLICY',
    "Pull policy of Berth's own images.",
    PULL_POLICIES,
    'IfNotPresent',
  ),
  imageRegistry: text('OPERATOR_IMAGE_REGISTRY', 'Prepended to every image except those in specs.', ''),
  ownSecrets: list(
    'OPERATOR_OWN_SECRETS',
    "Secrets of the installation in Berth's namespace, which engines must not use.",
  ),
  imagePullSecrets: list('OPERATOR_IMAGE_PULL_SECRETS', 'Names of pull secrets in each workspace.'),
  downloadEnv: json<readonly V1EnvVar[]>(
    'OPERATOR_DOWNLOAD_ENV',
    'Environment of containers that download weights, as of a container.',
    'list',
    [],
  ),
  platform: oneOf(
    'OPERATOR_SECURITY_PLATFORM',
    'Who sets the users and groups of pods: Berth, or OpenShift by namespace.',
    SECURITY_PLATFORMS,
    'kubernetes',
  ),
  networkPolicies: flag('OPERATOR_NETWORK_POLICIES', 'Whether model pods get NetworkPolicies.', true),
  egress: egress('OPERATOR'),
  redisURL: required(
    text('OPERATOR_REDIS_URL', 'URL of Redis for the operator and sidecars, without credentials.'),
  ),
  redisUsers: oneOf(
    'OPERATOR_REDIS_USERS',
    'Who creates the Redis users of workspaces.',
    REDIS_USER_MODES,
    'managed',
  ),
  externalRedisSecret: text(
    'OPERATOR_EXTERNAL_REDIS_SECRET',
    'With users `external`: Secret of each workspace with keys username and password.',
    'berth-redis',
  ),
} as const;

export interface BuildSettings extends ValuesOf<typeof BUILD_VARIABLES> {
  /** Version of this operator, and of the sidecars that it creates. */
  version: string;
  /** Base URL of a deployment that is not routed by host name, as in `make run`. */
  endpointURL?: (deployment: { namespace: string; name: string }) => string;
  /** Default Gateway of HTTPRoutes; if set, routes are HTTPRoutes by default. */
  gateway: GatewayReference | undefined;
  /** Tracing of sidecars; null: no tracing. */
  gatewayTracing: TracingSettings | null;
  /** Groups of pod fields that are allowed at all, and whether pods may access their node. */
  podFields: { groups: readonly PodFieldGroup[]; host: boolean };

  /** Credentials of the operator itself, and of everyone with `redisUsers: off`; absent if Redis needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** PEM file of the authorities that verify Redis' certificate; optional. */
  redisCAFile: string;
  /** Its content, for the sidecars; undefined if absent. Read for each deployment, so it must be cheap. */
  readRedisCA: () => string | undefined;

  /** Passwords, tokens and data keys derive from it. */
  masterKey: string;
}
