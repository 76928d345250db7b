/** The kinds of `make run`'s API server, with what it refuses and warns of beyond their definitions. */
import { join } from 'node:path';
import { modelDeployment } from '../api/model-deployment.ts';
import { findModelWarnings } from '../api/model-warnings.ts';
import { BUILTIN_TYPES } from '../kube/memory/builtin-types.ts';
import { readCustomTypes } from '../kube/memory/custom-types.ts';
import type { Validator, Warner } from '../kube/memory/memory-api.ts';
import type { ResourceType } from '../kube/memory/resource-type.ts';
import type { StatusCause } from '../kube/memory/status-error.ts';

const CRDS = join(import.meta.dirname, '../charts/berth/files/crds');

export const readLocalTypes = (): ResourceType[] => [...BUILTIN_TYPES, ...readCustomTypes(CRDS)];

/** Kubernetes' own kinds, whose schemas are not here: the fields that the local node reads unchecked. */
export const validateObject: Validator = ({ group, kind }, object) => {
  if (group === '' && kind === 'Pod') return validatePod('spec', object.spec);
  if (group === 'apps' && kind === 'Deployment')
    return validatePod(
      'spec.template.spec',
      (object.spec as { template?: { spec?: unknown } } | undefined)?.template?.spec,
    );
  return [];
};

/** As the chart's admission policy does. */
export const warnOfObject: Warner = ({ kind, schema }, object) => {
  const parsed = schema && kind === 'ModelDeployment' ? modelDeployment.safeParse(object) : undefined;
  return parsed?.success ? findModelWarnings(parsed.data.spec) : [];
};

function validatePod(field: string, spec: unknown): StatusCause[] {
  const { containers, initContainers = [] } = (spec ?? {}) as Record<string, unknown>;
  const isList = (value: unknown) =>
    Array.isArray(value) &&
    value.every((one) => typeof (one as { name?: unknown } | null)?.name === 'string');
  return [
    ...(isList(containers) && (containers as unknown[]).length > 0
      ? []
      : [refuse(`${field}.containers`, 'Required value: a list of containers, each with a name')]),
    ...(isList(initContainers)
      ? []
      : [refuse(`${field}.initContainers`, 'must be a list of containers, each with a name')]),
  ];
}

const refuse = (field: string, message: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  field,
  message,
});
