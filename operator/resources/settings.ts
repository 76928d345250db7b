/** Settings of an installation for the objects of all deployments. */
import type { V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import type { EnginePreset } from '../../api/engine-presets.ts';
import type { RoutePreset, RouteVia } from '../../api/model-route.ts';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import type { SecurityPlatform } from './security.ts';

export const REDIS_USER_MODES = ['managed', 'external', 'off'] as const;
export type RedisUserMode = (typeof REDIS_USER_MODES)[number];

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

export interface BuildSettings {
  /** Berth's own namespace, where the front lives. */
  namespace: string;
  /** Version of this operator, and of the sidecars that it creates. */
  version: string;
  /** Endpoints are at `<name>--<namespace>.<domain>`. */
  domain: string;
  /** Scheme and non-default port of `status.url`. */
  urlScheme: 'http' | 'https';
  urlPort: number | undefined;
  /** Base URL of a deployment that is not routed by host name, as in `make run`. */
  endpointURL?: (deployment: { namespace: string; name: string }) => string;
  /** Default class of Ingresses; undefined: the cluster's default. */
  ingressClass: string | undefined;
  routePreset: RoutePreset;
  routeVia: RouteVia;
  /** Hosts besides the default that a spec may use; `*.example.com` covers one label. */
  allowedHosts: readonly string[];
  /** Reserved host of the console; undefined: there is no console, or no route to it. */
  consoleHost: string | undefined;
  /** Base URL of the published documentation, for `documentation_url` of errors; undefined: they have none. */
  documentationURL: string | undefined;
  /** Keys of `spec.route.annotations` that are allowed. */
  allowedAnnotations: readonly string[];
  /** Default Gateway of HTTPRoutes; if set, routes are HTTPRoutes by default. */
  gateway: GatewayReference | undefined;
  /** Secrets of `namespace` that routes with `via: Front` may use for their certificate. */
  frontTLSSecrets: readonly string[];
  /** Service of the front in `namespace`. */
  frontService: string;
  frontServicePort: number;
  /** Origin of the front's internal service; without it there is no storage. */
  storageURL: string | undefined;

  gatewayImage: string;
  gatewayResources: V1ResourceRequirements;
  gatewayLogLevel: string;
  /** Tracing of sidecars; null: none. */
  gatewayTracing: TracingSettings | null;
  /** Image of the preset `simulator`: Berth's own. */
  /** Undefined: the installation has none. */
  simulatorImage: string | undefined;
  /** Overrides of the presets' own images, by preset; those for AMD's GPUs by `<preset>-rocm`. */
  engineImages: Readonly<Partial<Record<EnginePreset | `${EnginePreset}-rocm`, string>>>;
  /** Image that copies weights from S3. */
  s3CopyImage: string;
  /** Policy of the gateway and simulator images. */
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Prefix of every image except those in specs; '' for none. */
  imageRegistry: string;
  /** Names of the installation's Secrets in `namespace`, which engines must not use. */
  ownSecrets: readonly string[];
  /** Groups of pod fields that are allowed at all, and whether pods may access their node. */
  podFields: { groups: readonly PodFieldGroup[]; host: boolean };
  /** Names of pull secrets in each workspace. */
  imagePullSecrets: readonly string[];
  /** Proxy and CA settings of containers that download weights. */
  downloadEnv: readonly V1EnvVar[];
  /** Where users and groups of pods come from. */
  platform: SecurityPlatform;
  networkPolicies: boolean;
  /** CIDRs that tenants' URLs may or may not resolve to, beside the public-only rule; http if the first list allows it. */
  egress: { allow: readonly string[]; deny: readonly string[]; plainHTTP: boolean };

  /** For sidecars, without credentials. */
  redisURL: string;
  redisUsers: RedisUserMode;
  /** Credentials of the operator itself, and of everyone with `redisUsers: off`; absent if Redis needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** PEM file of the authorities that verify Redis' certificate; optional. */
  redisCAFile: string;
  /** Its content, for the sidecars; undefined if absent. Read for each deployment, so it must be cheap. */
  readRedisCA: () => string | undefined;
  /** With `redisUsers: external`: Secret of each workspace with keys `username` and `password`. */
  externalRedisSecret: string;

  /** Passwords, tokens and data keys derive from it. */
  masterKey: string;
}
