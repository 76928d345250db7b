/** Builds all that a ModelDeployment is made of. */

import type { V1Deployment } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isRouteProblem, type Problem } from '../status/problem.ts';
import { decideAccelerators } from './accelerators.ts';
import { buildDeployment, buildPodTemplate, decideReplicas } from './deployment.ts';
import { buildDisruptionBudget } from './disruption-budget.ts';
import { describeEngine } from './engine-description.ts';
import { buildSidecarSecret, decideGrace } from './gateway-container.ts';
import { buildHTTPRoute } from './http-route.ts';
import { buildIngress } from './ingress.ts';
import { buildNetworkPolicy } from './network-policy.ts';
import { decideRouteType, decideURL } from './route.ts';
import { buildService } from './service.ts';
import type { BuildSettings } from './settings.ts';
import { findSpecProblems } from './spec-problems.ts';
import { pinTemplate, type SidecarGrant } from './template-pin.ts';
import { buildWeightsClaim } from './weights.ts';
import { buildPrefetchJob } from './weights-cache.ts';

export interface BuildContext {
  /** The Deployment as it is in the cluster: its pod template is kept while the spec's pod is the same. */
  deployment?: (Pick<KubeObject, 'metadata'> & Pick<V1Deployment, 'spec'>) | undefined;
  /** Problems found before: a route problem withholds the route. */
  problems?: readonly Problem[];
  /** Replicas that the autoscaler wants; undefined where the spec alone decides. */
  scaledReplicas?: number | undefined;
  /** Has the kept pod template take the current sidecar. */
  sidecarGrant?: SidecarGrant | undefined;
}

export interface BuiltChildren {
  /** All in the deployment's namespace, owned by it. */
  objects: KubeObject[];
  /** With `via: Front`: the route, which lives in Berth's namespace and so cannot be owned by the deployment. */
  frontRoute: KubeObject | undefined;
  /** Downloads the weights into a shared cache, once. */
  prefetchJob: KubeObject | undefined;
  /** What the spec alone shows to be wrong. */
  problems: Problem[];
  /** Version of the sidecar in the pod template. */
  sidecarVersion: string;
  /** The operator would give the pods another sidecar by now. */
  isSidecarOutdated: boolean;
  /** Settings of the installation that are others than in the pod template, by name. */
  staleSettings: readonly string[];
  /** Replicas wanted now, after pause and scaling. */
  desiredReplicas: number;
  url: string | undefined;
  /** How the engine of the pod template reads the model's answers. */
  engineStatus: ModelDeploymentStatus['engine'];
  /** Resource name of the GPUs; empty for none. */
  gpuResource: string;
  /** Milliseconds that a leaving pod may take, the grace period. */
  drainTimeoutMs: number;
  via: RouteVia;
}

/** In the order in which they are to be applied; the same arguments always give the same objects. */
export function buildChildren(
  model: ModelDeployment,
  settings: BuildSettings,
  { deployment, problems: found = [], sidecarGrant, scaledReplicas }: BuildContext = {},
): BuiltChildren {
  const { spec } = model;
  const problems = findSpecProblems(model, settings);
  const pinned = pinTemplate({
    spec,
    live: deployment,
    version: settings.version,
    grant: sidecarGrant,
    build: () => buildPodTemplate(model, settings),
  });
  const via = spec.route.via ?? settings.routeVia;
  const isRouted = spec.route.enabled && ![...found, ...problems].some(isRouteProblem);
  const route = isRouted ? buildRoute(model, settings, via) : undefined;
  const objects = [
    buildSidecarSecret(model, settings),
    buildWeightsClaim(model),
    buildService(model, settings),
    settings.networkPolicies ? buildNetworkPolicy(model) : undefined,
    buildDisruptionBudget(model),
    buildDeployment(model, pinned, spec.scaling !== undefined && deployment !== undefined),
    via === 'Direct' ? route : undefined,
  ];
  return {
    objects: objects.filter((object) => object !== undefined),
    frontRoute: via === 'Front' ? route : undefined,
    prefetchJob: buildPrefetchJob(model, settings),
    problems,
    sidecarVersion: pinned.sidecarVersion,
    isSidecarOutdated: pinned.isSidecarOutdated,
    staleSettings: pinned.staleSettings,
    desiredReplicas: scaledReplicas ?? decideReplicas(spec),
    url: spec.route.enabled && !isRouted ? undefined : decideURL(model, settings),
    engineStatus: describeEngine(spec, pinned.template),
    gpuResource: decideAccelerators(spec).resourceName,
    drainTimeoutMs: decideGrace(spec).graceMs,
    via,
  };
}

const buildRoute = (model: ModelDeployment, settings: BuildSettings, via: RouteVia): KubeObject =>
  decideRouteType(model, settings) === 'HTTPRoute'
    ? buildHTTPRoute(model, settings, via)
    : buildIngress(model, settings, via);
