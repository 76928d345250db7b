/** Builds all that a ModelDeployment is made of. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isRouteProblem } from '../status/problem.ts';
import { decideAccelerators } from './accelerators.ts';
import type { BuildContext, BuiltChildren } from './built-children.ts';
import { buildDeployment, buildPodTemplate } from './deployment.ts';
import { buildDisruptionBudget } from './disruption-budget.ts';
import { describeEngine } from './engine-description.ts';
import { buildHTTPRoute } from './http-route.ts';
import { buildIngress } from './ingress.ts';
import { buildNetworkPolicy } from './network-policy.ts';
import { decideGrace, decideReplicas } from './replicas.ts';
import { decideURL } from './route-host.ts';
import { decideRouteType } from './route-type.ts';
import { buildService } from './service.ts';
import type { BuildSettings } from './settings.ts';
import { buildSidecarSecret } from './sidecar-secret.ts';
import { findSpecProblems } from './spec-problems.ts';
import { pinTemplate } from './template-pin.ts';
import { buildWeightsClaim } from './weights-claim.ts';

/** In the order in which they are to be applied; the same arguments always give the same objects. */
export function buildChildren(
  model: ModelDeployment,
  settings: BuildSettings,
  { deployment, problems: found = [], sidecarGrant }: BuildContext = {},
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
    buildDeployment(model, pinned),
    via === 'Direct' ? route : undefined,
  ];
  return {
    objects: objects.filter((object) => object !== undefined),
    frontRoute: via === 'Front' ? route : undefined,
    problems,
    sidecarVersion: pinned.sidecarVersion,
    isSidecarOutdated: pinned.isSidecarOutdated,
    staleSettings: pinned.staleSettings,
    desiredReplicas: decideReplicas(spec),
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
