/** The APIKey resource (docs/api.md, "Authentication", "Limits"). */
import { z } from 'zod';
import { budgetSpec, budgetStatus, ownerName } from './budget-spec.ts';
import {
  conditions,
  customObject,
  objectName,
  observedGeneration,
  type ResourceDefinition,
} from './kubernetes-types.ts';
import { ANNOTATIONS } from './names.ts';

/** Every admission of the key has them all. */
const MAX_DEPLOYMENTS = 20;
/** As ModelDeployments may have. */
const MAX_DEPLOYMENT_NAME = 45;

export const apiKeySpec = z.object({
  rpm: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(60)
    .describe('Requests per minute on chat, completions and embeddings.'),
  tpd: z
    .int()
    .min(1)
    .max(1_000_000_000_000)
    .default(1_000_000)
    .describe('Tokens per UTC day on the same routes.'),
  expiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'Rejected from then on.', format: 'date-time' }),
  priority: z
    .int()
    .min(-100)
    .max(100)
    .default(0)
    .describe('Requests with keys of a higher priority get an engine slot first, and leave the queue first.'),
  owner: ownerName(
    'Who it belongs to, such as a team: usage and cost are summed by owner. A budget of this owner in the Workspace bounds it.',
  ).optional(),
  deployments: z
    .array(objectName('Name of a ModelDeployment.', MAX_DEPLOYMENT_NAME))
    .min(1)
    .max(MAX_DEPLOYMENTS)
    .optional()
    .describe('Deployments of the namespace that it may call; all if absent.'),
  budget: budgetSpec.optional().describe('What it may spend in each period; unlimited if absent.'),
  disabled: z.boolean().default(false).describe('Rejects the key immediately.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in 64 lowercase hex digits')
    .optional()
    .describe(
      'Hash of a key of your own. If absent, the operator creates a key and stores it in the Secret <name>-api-key.',
    ),
  hint: z
    .string()
    .regex(/^[\w-]{0,12}…[\w-]{1,4}$/, 'must be up to 12 characters, "…" and the last 4 at most')
    .optional()
    .describe(
      'Start and end of a key of your own, by which people recognize it, such as `sk-berth-…x3a0`: too little to guess it.',
    ),
});

export const apiKeyStatus = z.object({
  observedGeneration,
  hint: z.string().optional().describe('Start and end of the key.'),
  secretName: z.string().optional().describe('Secret that holds a key that the operator created.'),
  sha256: z.string().optional().describe('Hash of the key.'),
  budget: budgetStatus.optional().describe('State of its budget; absent without one.'),
  conditions,
});

export const apiKey = customObject('APIKey', apiKeySpec.prefault({}), apiKeyStatus);
export type APIKey = z.infer<typeof apiKey>;

export const apiKeyResource: ResourceDefinition = {
  kind: 'APIKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortNames: ['key'],
  spec: apiKeySpec,
  status: apiKeyStatus,
  rules: [
    { rule: 'self.metadata.name.size() <= 200', message: 'metadata.name must have at most 200 characters' },
  ],
  columns: [
    { name: 'Key', type: 'string', jsonPath: '.status.hint' },
    { name: 'RPM', type: 'integer', jsonPath: '.spec.rpm' },
    { name: 'TPD', type: 'integer', jsonPath: '.spec.tpd' },
    { name: 'Owner', type: 'string', jsonPath: '.spec.owner' },
    { name: 'Spent', type: 'string', jsonPath: '.status.budget.spent' },
    { name: 'Budget', type: 'string', jsonPath: '.spec.budget.amount' },
    { name: 'Expires', type: 'date', jsonPath: '.spec.expiresAt' },
    { name: 'Disabled', type: 'boolean', jsonPath: '.spec.disabled' },
    { name: 'Secret', type: 'string', jsonPath: '.status.secretName' },
    { name: 'Active', type: 'string', jsonPath: '.status.conditions[?(@.type=="Active")].status' },
    {
      name: 'Creator',
      type: 'string',
      jsonPath: `.metadata.annotations.${ANNOTATIONS.createdBy.replaceAll('.', '\\.')}`,
      priority: 1,
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
