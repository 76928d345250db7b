/** Whether a deployment is routed by an Ingress or by an HTTPRoute, and at which Gateway. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Problem } from '../status/problem.ts';
import type { BuildSettings, GatewayReference } from './settings.ts';

type GatewaySettings = Pick<BuildSettings, 'gateway'>;

export function decideGateway(
  { metadata, spec }: Pick<ModelDeployment, 'metadata' | 'spec'>,
  { gateway }: GatewaySettings,
): GatewayReference | undefined {
  if (!spec.route.gateway) return gateway;
  const { namespace = metadata.namespace, ...own } = spec.route.gateway;
  return { ...own, namespace };
}

export const decideRouteType = (
  model: Pick<ModelDeployment, 'metadata' | 'spec'>,
  settings: GatewaySettings,
): 'Ingress' | 'HTTPRoute' =>
  model.spec.route.type ?? (decideGateway(model, settings) ? 'HTTPRoute' : 'Ingress');

export function findGatewayProblem(model: ModelDeployment, settings: GatewaySettings): Problem[] {
  if (decideRouteType(model, settings) === 'Ingress' || decideGateway(model, settings)) return [];
  const message =
    'spec.route.type HTTPRoute needs a Gateway: set spec.route.gateway, or ingress.gateway in the chart';
  return [{ reason: 'NoGateway', message }];
}
