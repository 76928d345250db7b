/** Names, labels and owner of every child. The parent's own labels and annotations are never copied. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { LABELS, MANAGED_BY } from '../../api/names.ts';
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
