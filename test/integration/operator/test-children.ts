/** The smallest children that the reconcilers can work with. */
import type { ModelDeployment } from '../../../contract/model-deployment.ts';
import { ANNOTATIONS, defaultHost, LABELS, MANAGED_BY, podSelector } from '../../../contract/names.ts';
import type { KubeObject } from '../../../operator/kube/object.ts';
import type { BuildContext, BuiltChildren } from '../../../operator/resources/built-children.ts';
import { isRouteProblem } from '../../../operator/status/problem.ts';

export function buildTestChildren(model: ModelDeployment, context: BuildContext = {}): BuiltChildren {
  const { problems = [] } = context;
  const { name, namespace } = model.metadata;
  const { spec } = model;
  const desiredReplicas = spec.paused || model.metadata.deletionTimestamp ? 0 : (spec.replicas ?? 1);
  const labels = { ...podSelector(name), [LABELS.managedBy]: MANAGED_BY };
  const image = spec.engine.image ?? 'engine:1';
  const host = spec.route.host ?? defaultHost(name, namespace, 'example.test');
  const inputs = JSON.stringify([image, spec.engine.args]);
  const objects: KubeObject[] = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, labels },
      spec: {
        selector: podSelector(name),
        ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-gateway`, namespace, labels },
      type: 'Opaque',
      data: { config: 'e30=' },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, labels, annotations: { [ANNOTATIONS.templateInputs]: inputs } },
      spec: {
        replicas: desiredReplicas,
        selector: { matchLabels: podSelector(name) },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
        template: {
          metadata: { labels: podSelector(name) },
          spec: { containers: [{ name: 'engine', image, args: spec.engine.args }], ...spec.template },
        },
      },
    },
  ];
  if (!problems.some(isRouteProblem))
    objects.push({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name, namespace, labels },
      spec: {
        ingressClassName: 'test',
        rules: [
          {
            host,
            http: {
              paths: [
                { path: '/', pathType: 'Prefix', backend: { service: { name, port: { name: 'http' } } } },
              ],
            },
          },
        ],
      },
    });
  return {
    objects,
    frontRoute: undefined,
    problems: [],
    sidecarVersion: '1.0.0',
    desiredReplicas,
    url: `http://${host}/v1`,
    gpuResource: 'nvidia.com/gpu',
    drainTimeoutMs: 180_000,
    via: 'Direct',
  };
}
