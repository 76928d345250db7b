/** The kinds of `make run`'s API server, and its validation of Berth's own. */
import { join } from 'node:path';
import type { z } from 'zod';
import { apiKey } from '../api/api-key.ts';
import { FIELD_MESSAGES } from '../api/field-messages.ts';
import { modelDeployment } from '../api/model-deployment.ts';
import { findModelWarnings } from '../api/model-warnings.ts';
import { storageCredential } from '../api/storage-credential.ts';
import { webhookEndpoint } from '../api/webhook-endpoint.ts';
import { WORKSPACE_NAME, workspace } from '../api/workspace.ts';
import { BUILTIN_TYPES } from '../kube/memory/builtin-types.ts';
import { readCustomTypes } from '../kube/memory/custom-types.ts';
import type { Validator, Warner } from '../kube/memory/memory-api.ts';
import type { ResourceType } from '../kube/memory/resource-type.ts';
import type { StatusCause } from '../kube/memory/status-error.ts';
import type { KubeObject } from '../kube/object.ts';

const CRDS = join(import.meta.dirname, '../charts/berth/files/crds');

export const readLocalTypes = (): ResourceType[] => [...BUILTIN_TYPES, ...readCustomTypes(CRDS)];

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  ModelDeployment: modelDeployment,
  Workspace: workspace,
  APIKey: apiKey,
  WebhookEndpoint: webhookEndpoint,
  StorageCredential: storageCredential,
};

const MAX_NAMES: Readonly<Record<string, number>> = { ModelDeployment: 45, APIKey: 200 };
const MODEL_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** By the schemas from which the CRDs are generated, whose rules are in CEL there. */
export const validateObject: Validator = ({ group, kind, schema }, object, before) => {
  if (group === '' && kind === 'Pod') return validatePod('spec', object.spec);
  if (group === 'apps' && kind === 'Deployment')
    return validatePod(
      'spec.template.spec',
      (object.spec as { template?: { spec?: unknown } } | undefined)?.template?.spec,
    );
  const own = schema && SCHEMAS[kind];
  if (!own) return [];
  const { status: _, ...wanted } = object;
  const parsed = own.safeParse(wanted, FIELD_MESSAGES);
  const issues = parsed.success ? [] : parsed.error.issues;
  return [
    ...(before ? [] : validateName(kind, object.metadata.name)),
    ...issues.map(({ path, message }) => refuse(path.join('.'), message)),
    ...(before && idOf(before) !== idOf(object) ? [refuse('spec.id', 'id is immutable')] : []),
  ];
};

/** As the chart's admission policy does. */
export const warnOfObject: Warner = ({ kind, schema }, object) => {
  const parsed = schema && kind === 'ModelDeployment' ? modelDeployment.safeParse(object) : undefined;
  return parsed?.success ? findModelWarnings(parsed.data.spec) : [];
};

/** Types of fields that the local node reads unchecked. */
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

const idOf = ({ spec }: KubeObject) => (spec as { id?: number } | undefined)?.id;

function validateName(kind: string, name: string): StatusCause[] {
  const max = MAX_NAMES[kind];
  if (kind === 'Workspace' && name !== WORKSPACE_NAME)
    return [refuse('metadata.name', `a namespace has one Workspace, named ${WORKSPACE_NAME}`)];
  if (max !== undefined && name.length > max)
    return [refuse('metadata.name', `must have at most ${max} characters`)];
  return kind === 'ModelDeployment' && !MODEL_NAME.test(name)
    ? [refuse('metadata.name', 'must be one DNS label, beginning with a letter')]
    : [];
}
