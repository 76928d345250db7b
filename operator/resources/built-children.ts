/** The input and output of the builders. */
import type { V1Deployment } from '@kubernetes/client-node';
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Problem } from '../status/problem.ts';
import type { SidecarGrant } from './template-pin.ts';

export interface BuildContext {
  /** The Deployment as it is in the cluster: its pod template is kept while the spec's pod is the same. */
  deployment?: (Pick<KubeObject, 'metadata'> & Pick<V1Deployment, 'spec'>) | undefined;
  /** Problems found before: a route problem withholds the route. */
  problems?: readonly Problem[];
  /** Has the kept pod template take the current sidecar. */
  sidecarGrant?: SidecarGrant | undefined;
}

export interface BuiltChildren {
  /** All in the deployment's namespace, owned by it. */
  objects: KubeObject[];
  /** With `via: Front`: the route, which lives in Berth's namespace and so cannot be owned by the deployment. */
  frontRoute: KubeObject | undefined;
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
