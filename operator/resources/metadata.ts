/** Names, labels and owner of every child. Of the parent's labels, only pods get any: their queue and priority. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { KUEUE, LABELS, MANAGED_BY } from '../../api/names.ts';
import { controllerReference, type KubeObject, type ObjectMeta } from '../../kube/object.ts';

export function childLabels({ metadata, spec }: ModelDeployment): Record<string, string> {
  return {
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.name]: 'berth-model',
    [LABELS.instance]: metadata.name,
    [LABELS.deployment]: metadata.name,
    [LABELS.kind]: spec.kind,
  };
}

/**
 * Kueue's labels of the ModelDeployment for its pods: others change what a pod is to Kueue. Those of `spec.template` take precedence.
 * On the Deployment, Kueue would refuse to change or remove them.
 */
export function queueLabels({ metadata: { labels = {} }, spec }: ModelDeployment): Record<string, string> {
  const names = [KUEUE.queue, KUEUE.priority].filter(
    (name) => labels[name] !== undefined && spec.template.labels?.[name] === undefined,
  );
  return Object.fromEntries(names.map((name) => [name, labels[name]!]));
}

export function childMetadata(
  model: ModelDeployment,
  name: string,
  annotations?: Record<string, string>,
): ObjectMeta {
  return {
    name,
    namespace: model.metadata.namespace,
    labels: childLabels(model),
    ...(annotations && Object.keys(annotations).length > 0 ? { annotations } : {}),
    ownerReferences: [controllerReference(model as unknown as KubeObject)],
  };
}
