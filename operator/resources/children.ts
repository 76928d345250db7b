/** Builds all children of a ModelDeployment. */

import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import type { ModelDeployment, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { isRouteProblem, type Problem } from '../status/problem.ts';
import { decideAccelerators } from './accelerators.ts';
import { adaptersFolder, type ServedAdapter, withAdapters } from './adapters.ts';
import { buildDeployment, buildPodTemplate, decideReplicas } from './deployment.ts';
import { buildClaimTemplate } from './device-claims.ts';
import { buildDisruptionBudget } from './disruption-budget.ts';
import { describeEngine } from './engine-description.ts';
import { decideGrace } from './gateway-container.ts';
import { buildHTTPRoute } from './http-route.ts';
import { buildIngress } from './ingress.ts';
import { queueLabels } from './metadata.ts';
import { buildNetworkPolicy } from './network-policy.ts';
import { hasRefusedParsers, withoutParsers } from './parser-refusal.ts';
import { findPodFieldProblems } from './pod-fields.ts';
import { decideRouteType, decideURL } from './route.ts';
import { buildService } from './service.ts';
import type { BuildSettings } from './settings.ts';
import { buildSidecarSecret } from './sidecar-secret.ts';
import { findIdentityProblem, findRouteProblems, findSpecProblems } from './spec-problems.ts';
import { findTemplateProblem, pinTemplate, type SidecarGrant } from './template-pin.ts';
import { buildWeightsClaim } from './weights.ts';
import { buildPrefetchJob } from './weights-cache.ts';

export interface BuildContext {
  /** The Deployment in the cluster: its pod template is kept while the spec's pod is the same. */
  deployment?: (Pick<KubeObject, 'metadata'> & Pick<V1Deployment, 'spec'>) | undefined;
  /** The deployment's pods: one may show that the engine cannot start as it is. */
  pods?: readonly V1Pod[];
  /** Problems found before: a route problem withholds the route. */
  problems?: readonly Problem[];
  /** Replicas decided by the autoscaler; undefined if the spec alone decides. */
  scaledReplicas?: number | undefined;
  /** Served by the same pods. */
  adapters?: readonly ServedAdapter[];
  /** Grafts the current sidecar into the kept pod template. */
  sidecarGrant?: SidecarGrant | undefined;
}

export interface BuiltChildren {
  /** All in the deployment's namespace, owned by it. */
  objects: KubeObject[];
  /** With `via: Front`: the route, which lives in Berth's namespace and so cannot be owned by the deployment. */
  frontRoute: KubeObject | undefined;
  /** Downloads the weights into a shared cache, once. */
  prefetchJob: KubeObject | undefined;
  /** Problems visible from the spec alone. */
  problems: Problem[];
  /** Version of the sidecar in the pod template. */
  sidecarVersion: string;
  /** The operator would now give the pods a different sidecar. */
  isSidecarOutdated: boolean;
  /** Settings of the installation that differ from the pod template, by name. */
  staleSettings: readonly string[];
  /** Replicas wanted now, after pause and scaling. */
  desiredReplicas: number;
  url: string | undefined;
  /** How the engine of the pod template parses the model's output. */
  engineStatus: ModelDeploymentStatus['engine'];
  /** The engine starts without the parsers of a guessed family, which did not fit. */
  isWithoutParsers: boolean;
  /** Resource name of the GPUs; empty for none. */
  gpuResource: string;
  /** The grace period in milliseconds. */
  drainTimeoutMs: number;
  via: RouteVia;
}

/** In the order of application; deterministic. */
export function buildChildren(
  model: ModelDeployment,
  settings: BuildSettings,
  {
    deployment,
    pods = [],
    problems: found = [],
    adapters = [],
    sidecarGrant,
    scaledReplicas,
  }: BuildContext = {},
): BuiltChildren {
  const { spec } = model;
  const served = withAdapters(model);
  const pinned = pinTemplate({
    spec,
    queueLabels: queueLabels(model),
    live: deployment,
    version: settings.version,
    grant: sidecarGrant,
    refusesParsers: (template) => hasRefusedParsers(served.spec, template, pods),
    build: ({ withParsers }) => buildPodTemplate(withParsers ? served : withoutParsers(served), settings),
  });
  const problems = [...findSpecProblems(model, settings), ...findTemplateProblem(pinned)];
  const { via, isRouted, route } = decideRoute(model, settings, [...found, ...problems]);
  const objects = [
    buildSidecarSecret(model, settings, adapters),
    buildWeightsClaim(model),
    buildClaimTemplate(model),
    buildService(model, settings),
    settings.networkPolicies ? buildNetworkPolicy(model, adapters) : undefined,
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
    engineStatus: describeEngine(spec, pinned),
    isWithoutParsers: pinned.isWithoutParsers,
    gpuResource: decideAccelerators(spec).resourceName,
    drainTimeoutMs: decideGrace(spec).graceMs,
    via,
  };
}

export interface AdapterBuild {
  /** Found before: a route problem withholds the route. */
  problems: readonly Problem[];
  /** By the pods of its base. */
  isServed: boolean;
}

/** Those of an adapter, which has no pods. Its base's must not get its requests while they do not serve it: others may have its port. */
export function buildAdapterChildren(
  served: ServedAdapter,
  settings: BuildSettings,
  { problems: found, isServed }: AdapterBuild,
): Pick<BuiltChildren, 'objects' | 'frontRoute' | 'prefetchJob' | 'problems' | 'url' | 'via'> {
  const { model, base } = served;
  const problems = [
    ...findPodFieldProblems(model, settings),
    ...findIdentityProblem(model),
    ...(model.spec.route.enabled ? findRouteProblems(model, settings) : []),
  ];
  const { via, isRouted, route } = decideRoute(model, settings, [...found, ...problems]);
  return {
    objects: [
      buildService(model, settings, isServed ? served : undefined),
      ...(route && via === 'Direct' ? [route] : []),
    ],
    frontRoute: via === 'Front' ? route : undefined,
    prefetchJob: buildPrefetchJob(model, settings, adaptersFolder(base)),
    problems,
    url: model.spec.route.enabled && !isRouted ? undefined : decideURL(model, settings),
    via,
  };
}

function decideRoute(model: ModelDeployment, settings: BuildSettings, problems: readonly Problem[]) {
  const { route } = model.spec;
  const via = route.via ?? settings.routeVia;
  const isRouted = route.enabled && !problems.some(isRouteProblem);
  return { via, isRouted, route: isRouted ? buildRoute(model, settings, via) : undefined };
}

const buildRoute = (model: ModelDeployment, settings: BuildSettings, via: RouteVia): KubeObject =>
  decideRouteType(model, settings) === 'HTTPRoute'
    ? buildHTTPRoute(model, settings, via)
    : buildIngress(model, settings, via);

export const findDeployment = ({ objects }: Pick<BuiltChildren, 'objects'>): Wire<V1Deployment> | undefined =>
  objects.find(({ kind }) => kind === 'Deployment') as Wire<V1Deployment> | undefined;
