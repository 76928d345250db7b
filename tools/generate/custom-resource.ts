/** Writes the CustomResourceDefinition of one resource. */
import { stringify } from 'yaml';
import type { ResourceDefinition } from '../../api/kubernetes-types.ts';
import { GROUP } from '../../api/names.ts';
import { buildStructuralSchema } from './structural-schema.ts';

/** Until the operator has seen a new object: without it, kstatus takes one that has no conditions yet as ready. */
const NOT_OBSERVED = { observedGeneration: -1 };

const HEADER = '# Generated from api/ by make generate. Do not edit.\n';

export function buildCustomResource(resource: ResourceDefinition) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource.plural}.${GROUP}`, annotations: { 'helm.sh/resource-policy': 'keep' } },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.singular,
        shortNames: resource.shortNames,
        categories: ['berth'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          additionalPrinterColumns: resource.columns,
          subresources: { status: {}, ...(resource.scale ? { scale: resource.scale } : {}) },
          schema: { openAPIV3Schema: buildObjectSchema(resource) },
        },
      ],
    },
  };
}

function buildObjectSchema(resource: ResourceDefinition) {
  const spec = buildStructuralSchema(resource.spec);
  const isSpecRequired = Array.isArray(spec.required) && spec.required.length > 0;
  return {
    type: 'object',
    ...(isSpecRequired ? { required: ['spec'] } : {}),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: isSpecRequired ? spec : { ...spec, default: {} },
      status: { ...buildStructuralSchema(resource.status), default: NOT_OBSERVED },
    },
    ...(resource.rules ? { 'x-kubernetes-validations': resource.rules } : {}),
  };
}

export const formatCustomResource = (resource: ResourceDefinition): string =>
  HEADER + stringify(buildCustomResource(resource), { lineWidth: 120, aliasDuplicateObjects: false });
