/** What an installation decides for the objects of all deployments. */
import type { V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import type { EnginePreset } from '../../api/engine-presets.ts';
import type { RoutePreset, RouteVia } from '../../api/model-route.ts';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import type { PodFieldGroup } from './pod-fields.ts';
import type { SecurityPlatform } from './security.ts';

export const REDIS_USER_MODES = ['managed', 'external', 'off'] as const;
export type RedisUserMode = (typeof REDIS_USER_MODES)[number];

export interface GatewayReference {
  name: string;
  namespace: string;
  sectionName?: string | undefined;
}

export interface BuildSettings {
  /** Berth's own namespace, where the front lives. */
  namespace: string;
  /** Version of this operator, and of the sidecars that it makes. */
  version: string;
  /** Endpoints are at `<name>--<namespace>.<domain>`. */
  domain: string;
  /** Scheme and, where it is not the scheme's own, port of `status.url`. */
  urlScheme: 'http' | 'https';
  urlPort: number | undefined;
  /** Base URL of a deployment where others than host names lead there, as in `make run`. */
  endpointURL?: (deployment: { namespace: string; name: string }) => string;
  /** Class of Ingresses that name none; undefined: the cluster's default. */
  ingressClass: string | undefined;
  routePreset: RoutePreset;
  routeVia: RouteVia;
  /** Hosts beyond the default that a spec may ask for; `*.example.com` covers one label. */
  allowedHosts: readonly string[];
  /** Which no deployment may have; undefined: there is no console, or no route to it. */
  consoleHost: string | undefined;
  /** Base URL of the published documentation, for `documentation_url` of errors; undefined: they have none. */
  documentationURL: string | undefined;
  /** Keys of `spec.route.annotations` that are allowed. */
  allowedAnnotations: readonly string[];
  /** Of HTTPRoutes of deployments that name none; with one, routes are HTTPRoutes by default. */
  gateway: GatewayReference | undefined;
  /** Secrets of `namespace` that routes with `via: Front` may name for their certificate. */
  frontTLSSecrets: readonly string[];
  /** Service of the front in `namespace`. */
  frontService: string;
  frontServicePort: number;
  /** Origin of the front's internal service; without it there is no storage. */
  storageURL: string | undefined;

  gatewayImage: string;
  gatewayResources: V1ResourceRequirements;
  gatewayLogLevel: string;
  /** Of sidecars; null: they trace nothing. */
  gatewayTracing: TracingSettings | null;
  /** Image of the preset `simulator`: Berth's own. */
  simulatorImage: string;
  /** In place of the presets' own images, by preset; those for AMD's GPUs by `<preset>-rocm`. */
  engineImages: Readonly<Partial<Record<EnginePreset | `${EnginePreset}-rocm`, string>>>;
  /** Image that copies weights from S3. */
  s3CopyImage: string;
  /** Of the gateway and simulator images. */
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Put before every image but those that a spec names; '' for none. */
  imageRegistry: string;
  /** Names of Secrets of the installation in `namespace`, which no engine may have. */
  ownSecrets: readonly string[];
  /** Groups of pod fields that are taken at all, and whether pods may reach their node. */
  podFields: { groups: readonly PodFieldGroup[]; host: boolean };
  /** Names of pull secrets in each workspace. */
  imagePullSecrets: readonly string[];
  /** Proxy and CA settings of containers that download weights. */
  downloadEnv: readonly V1EnvVar[];
  /** Where users and groups of pods come from. */
  platform: SecurityPlatform;
  networkPolicies: boolean;
  /** CIDRs that tenants' URLs may or may not lead to, beside the public-only rule; http where the first list allows. */
  egress: { allow: readonly string[]; deny: readonly string[]; plainHTTP: boolean };

  /** As sidecars dial it, without credentials. */
  redisURL: string;
  redisUsers: RedisUserMode;
  /** Credentials of the operator itself, and of everyone with `redisUsers: off`; absent where Redis needs none. */
  redisUsername: string | undefined;
  redisPassword: string | undefined;
  /** PEM file of the authorities that Redis' certificate is checked by; it need not be there. */
  redisCAFile: string;
  /** What is in it, for the sidecars; undefined where it is not there. Read for each deployment, so it must cost nothing. */
  readRedisCA: () => string | undefined;
  /** With `redisUsers: external`: Secret of each workspace with keys `username` and `password`. */
  externalRedisSecret: string;

  /** Passwords, tokens and data keys derive from it. */
  masterKey: string;
}
