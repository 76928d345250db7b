/** Pieces of Kubernetes' own types that Berth's objects embed. */
import { z } from 'zod';
import { GROUP } from './names.ts';

export const API_VERSION = `${GROUP}/v1alpha1`;

/** A part of a Kubernetes object that is passed on unchanged; the API server validates it in the pod. */
export const passthrough = (describe: string) =>
  z
    .record(z.string(), z.unknown())
    .meta({ description: describe, 'x-kubernetes-preserve-unknown-fields': true });

/** Refuses YAML's numbers and booleans at apply: `value: off` would otherwise fail later, in the pod. */
export const environmentVariable = z
  .looseObject({
    name: z.string().min(1).describe('Name of the variable.'),
    value: z.string().optional().describe('Its value, as text.'),
    valueFrom: passthrough('Where the value comes from, instead of value.').optional(),
  })
  .meta({
    description: 'A container environment variable (name and value or valueFrom).',
    'x-kubernetes-preserve-unknown-fields': true,
  });

export const stringMap = (describe: string) => z.record(z.string(), z.string()).describe(describe);

export const objectName = (describe: string, max = 253) =>
  z
    .string()
    .max(max)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be the name of a Kubernetes object')
    .describe(describe);

export const secretKey = (describe: string) =>
  z
    .object({
      name: objectName('Name of the Secret.'),
      key: z.string().min(1).max(253).describe('Key in the Secret.'),
    })
    .describe(describe);

/** A number of 48 bits that never changes; `deriveId` makes it of the object's name if absent. */
export const immutableId = (description: string) =>
  z
    .int()
    .min(1)
    .max(2 ** 48 - 1)
    .optional()
    .meta({ description, ...cel({ rule: 'self == oldSelf', message: 'id is immutable' }) });

/** A condition as `kubectl wait` and kstatus read it. */
export const condition = z.object({
  type: z.string().describe('Name of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  reason: z.string().describe('One CamelCase word.'),
  message: z.string().describe('One sentence for people.'),
  lastTransitionTime: z.string().describe('When status last changed.'),
  observedGeneration: z.int().optional().describe('Generation of the spec that it is about.'),
});
export type Condition = z.infer<typeof condition>;

export const conditions = z
  .array(condition)
  .default([])
  .meta({
    description: 'State of the object, one entry for each type.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  });

/** In each status. */
export const observedGeneration = z
  .int()
  .optional()
  .describe('Generation of the spec that the operator has seen; -1 before it has seen any.');

/** The part of an object's metadata that Berth reads. */
export const objectMeta = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  uid: z.string().default(''),
  generation: z.int().default(0),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.union([z.string(), z.date()]).optional(),
  deletionTimestamp: z.union([z.string(), z.date()]).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
});
export type ObjectMeta = z.infer<typeof objectMeta>;

/** A whole object of Berth's, with all defaults filled in. */
export const customObject = <K extends string, S extends z.ZodType, T extends z.ZodObject>(
  kind: K,
  spec: S,
  status: T,
) =>
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata: objectMeta,
    spec,
    status: status.prefault({} as z.input<T>),
  });

/** Input of `make generate` beside the schemas, for CustomResourceDefinitions. */
export interface ResourceDefinition {
  kind: string;
  plural: string;
  singular: string;
  shortNames: string[];
  spec: z.ZodType;
  status: z.ZodType;
  columns: { name: string; type: string; jsonPath: string; description?: string; priority?: number }[];
  /** CEL rules over the whole object (`self.metadata.name`, `self.spec`). */
  rules?: CelRule[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
}

export interface CelRule {
  /** Makes `oldSelf` optional, so that the rule also applies to new objects; from Kubernetes 1.30 on. */
  optionalOldSelf?: boolean;
  rule: string;
  message?: string;
  messageExpression?: string;
  fieldPath?: string;
}

/** Attaches CEL rules to a schema; the message names the field and what is allowed. */
export const cel = (...rules: CelRule[]) => ({ 'x-kubernetes-validations': rules });
