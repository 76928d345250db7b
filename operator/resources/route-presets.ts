/** Settings of each kind of load balancer for long responses and large bodies: the gateway's limits apply, never its own. */

import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { ResolvedLimits } from '../../api/model-limits.ts';
import type { RoutePreset } from '../../api/model-route.ts';
import type { BuildSettings } from './settings.ts';

export const decidePreset = (
  { spec }: ModelDeployment,
  { routePreset }: Pick<BuildSettings, 'routePreset'>,
): RoutePreset => spec.route.preset ?? routePreset;

type Times = Pick<ResolvedLimits, 'requestTimeoutMs' | 'imageTimeoutMs' | 'uploadTimeoutMs'>;

/** Above the gateway's own timeouts, so that its error envelope is sent first. */
const MARGIN_SECONDS = 60;

/** Annotations of the Ingress. */
export function presetAnnotations(preset: RoutePreset, limits: Times): Record<string, string> {
  const answer = seconds(limits.requestTimeoutMs, limits.imageTimeoutMs);
  const upload = seconds(limits.uploadTimeoutMs);
  return TABLE[preset]({ answer, upload });
}

const seconds = (...times: number[]): number => Math.ceil(Math.max(...times) / 1000) + MARGIN_SECONDS;

interface Seconds {
  answer: number;
  upload: number;
}

const TABLE: Record<RoutePreset, (seconds: Seconds) => Record<string, string>> = {
  nginx: ({ answer, upload }) => ({
    'nginx.ingress.kubernetes.io/proxy-body-size': '0',
    'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
    'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
    'nginx.ingress.kubernetes.io/proxy-read-timeout': String(answer),
    'nginx.ingress.kubernetes.io/proxy-send-timeout': String(upload),
    // To the Service's address, not to its endpoints: see `presetServiceAnnotations`.
    'nginx.ingress.kubernetes.io/service-upstream': 'true',
  }),
  // It streams both ways without a size limit; the 60 s that it reads a request are an argument of its entry point:
  // --entryPoints.<name>.transport.respondingTimeouts.readTimeout=360s
  traefik: () => ({}),
  alb: ({ answer, upload }) => ({
    'alb.ingress.kubernetes.io/load-balancer-attributes': `idle_timeout.timeout_seconds=${Math.max(answer, upload)}`,
    // Any response of a ready gateway is fine; without a ready pod it is 503.
    'alb.ingress.kubernetes.io/success-codes': '200-499',
    'alb.ingress.kubernetes.io/target-type': 'ip',
  }),
  'gateway-api': () => ({}),
  none: () => ({}),
};

const NATIVE_BALANCING = {
  'traefik.ingress.kubernetes.io/service.nativelb': 'true',
  // By HTTPRoutes.
  'traefik.io/service.nativelb': 'true',
};

/**
 * Annotations of the Service. A balancer that connects to endpoints learns of the last pod's end and of the front by separate
 * messages, and serves its own error page in between; one that connects to the Service's address is routed to the front at once (decision 0115).
 * Also written with `none`: other controllers ignore them, and each Service has only one reader.
 */
export const presetServiceAnnotations = (preset: RoutePreset): Record<string, string> =>
  preset === 'alb' || preset === 'nginx' ? {} : NATIVE_BALANCING;

/** Timeouts of an HTTPRoute's rule; zero switches the Gateway's own off. */
export const presetTimeouts = (preset: RoutePreset): { request: string } | undefined =>
  preset === 'gateway-api' ? { request: '0s' } : undefined;
