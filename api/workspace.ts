/** The Workspace resource: what a platform admin grants to a namespace. */
import { z } from 'zod';
import { budgetSpec, budgetStatus, MAX_OWNERS, ownerName } from './budget-spec.ts';
import {
  conditions,
  customObject,
  objectName,
  observedGeneration,
  type ResourceDefinition,
} from './kubernetes-types.ts';
import { amount, duration } from './quantity.ts';

/** The only allowed name of a Workspace. */
export const WORKSPACE_NAME = 'workspace';

/** They use Redis memory. */
const MAX_KEEP_INPUTS_DAYS = 30;

export const workspaceSpec = z.object({
  ownerEmail: z
    .string()
    .max(254)
    .regex(/^[^@\s,;<>]+@[^@\s,;<>]+$/, 'must be one email address')
    .optional()
    .describe(
      'Address that is notified when an inline callback fails permanently, or a budget reaches a percentage.',
    ),
  credit: amount('Total credit granted; unlimited if absent.').optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as EUR')
    .optional()
    .describe('Currency of prices, credit and budgets, which the console and its CSV name.'),
  owners: z
    .array(
      z
        .object({
          name: ownerName('As in `spec.owner` of APIKeys.'),
          budget: budgetSpec
            .optional()
            .describe('What all its keys together may spend in each period; unlimited if absent.'),
        })
        .describe('An owner of API keys.'),
    )
    .max(MAX_OWNERS)
    .optional()
    .meta({
      description: 'Owners of API keys, with their budgets. Keys may have other owners, without a budget.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    }),
  signingSecret: objectName(
    'Secret (key `secret`) that signs webhooks: `whsec_` followed by 24 to 64 random bytes in padded base64. The operator creates one if absent; delete it to roll it.',
  ).optional(),
  keepInputs: duration(
    'How long the parameters of ended image and video requests are kept, encrypted, for the console to show and to retry; not kept if absent.',
    MAX_KEEP_INPUTS_DAYS,
  ).optional(),
});

export const workspaceStatus = z.object({
  observedGeneration,
  creditRemaining: z.string().optional().describe('Credit that is left; absent if it is unlimited.'),
  owners: z
    .array(
      budgetStatus
        .extend({ name: z.string().describe('Name of the owner.') })
        .describe('State of one budget.'),
    )
    .optional()
    .describe('State of the budgets of owners; absent without any.'),
  redisUser: z.string().optional().describe("Redis user of the workspace's sidecars."),
  conditions,
});

export const workspace = customObject('Workspace', workspaceSpec.prefault({}), workspaceStatus);
export type Workspace = z.infer<typeof workspace>;

export const workspaceResource: ResourceDefinition = {
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  shortNames: ['ws'],
  spec: workspaceSpec,
  status: workspaceStatus,
  rules: [
    {
      rule: `self.metadata.name == '${WORKSPACE_NAME}'`,
      message: `a namespace has one Workspace, named ${WORKSPACE_NAME}`,
    },
  ],
  columns: [
    { name: 'Owner', type: 'string', jsonPath: '.spec.ownerEmail' },
    { name: 'Granted', type: 'string', jsonPath: '.spec.credit' },
    { name: 'Remaining', type: 'string', jsonPath: '.status.creditRemaining' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
