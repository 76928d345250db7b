/** The kinds of objects that the local API knows, each with the schema that the cluster's API server checks. */
import { z } from 'zod';
import { apiKey } from '../../contract/api-key.ts';
import { FIELD_WORDS } from '../../contract/field-words.ts';
import { GROUP } from '../../contract/group.ts';
import { API_VERSION, objectMeta } from '../../contract/kubernetes-types.ts';
import { modelDeployment } from '../../contract/model-deployment.ts';
import { storageCredential } from '../../contract/storage-credential.ts';
import { webhookEndpoint } from '../../contract/webhook-endpoint.ts';
import { WORKSPACE_NAME, workspace } from '../../contract/workspace.ts';
import { refuseFields, StatusError } from './api-status.ts';

export interface LocalObject {
  apiVersion: string;
  kind: string;
  metadata: z.infer<typeof objectMeta>;
  spec?: unknown;
  status?: unknown;
  /** Of a Secret: in base64. */
  data?: Record<string, string>;
  type?: string;
}

export interface LocalResource {
  kind: string;
  apiVersion: string;
  schema: z.ZodType;
  longestName: number;
  /** Why objects are only read here; null where they are written too. */
  refusal: string | null;
}

const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
  .refine((text) => text.length % 4 === 0, 'must be base64');

/** `stringData` is joined to `data`, as the API server does. */
const secret = z
  .object({
    apiVersion: z.literal('v1').default('v1'),
    kind: z.literal('Secret').default('Secret'),
    metadata: objectMeta,
    type: z.string().default('Opaque'),
    data: z.record(z.string(), base64).default({}),
    stringData: z.record(z.string(), z.string()).default({}),
  })
  .transform(({ stringData, ...object }) => {
    const added = Object.entries(stringData).map(([field, text]) => [
      field,
      Buffer.from(text).toString('base64'),
    ]);
    return { ...object, data: { ...object.data, ...Object.fromEntries(added) } };
  });

const own = (kind: string, schema: z.ZodType, longestName = 253): LocalResource => ({
  kind,
  apiVersion: API_VERSION,
  schema,
  longestName,
  refusal: null,
});

const FROM_FILES = 'make run takes ModelDeployments from its files: change them there and start it again';

/** By plural. */
export const RESOURCES: Readonly<Record<string, LocalResource>> = {
  modeldeployments: { ...own('ModelDeployment', modelDeployment, 45), refusal: FROM_FILES },
  workspaces: own('Workspace', workspace),
  apikeys: own('APIKey', apiKey, 200),
  webhookendpoints: own('WebhookEndpoint', webhookEndpoint),
  storagecredentials: own('StorageCredential', storageCredential),
  secrets: { kind: 'Secret', apiVersion: 'v1', schema: secret, longestName: 253, refusal: null },
};

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** An object with its defaults, without a status. Throws StatusError. */
export function parseObject(plural: string, value: object): LocalObject {
  const { kind, schema, longestName } = RESOURCES[plural]!;
  const { name } = (value as Partial<LocalObject>).metadata ?? {};
  const subject = `${plural === 'secrets' ? kind : `${kind}.${GROUP}`} "${name ?? ''}"`;
  const wrong = judgeName(plural, name, longestName);
  if (wrong) {
    const causes = [{ field: 'metadata.name', message: wrong }];
    throw new StatusError(422, 'Invalid', `${subject} is invalid: metadata.name: ${wrong}`, causes);
  }
  const parsed = schema.safeParse(value, FIELD_WORDS);
  if (!parsed.success) throw refuseFields(subject, parsed.error.issues);
  const { status: _, ...object } = parsed.data as LocalObject;
  return object;
}

function judgeName(plural: string, name: unknown, longest: number): string | null {
  if (typeof name !== 'string' || name === '') return 'Required value: name is required';
  if (plural === 'workspaces' && name !== WORKSPACE_NAME)
    return `a namespace has one Workspace, named ${WORKSPACE_NAME}`;
  if (name.length > longest) return `must have at most ${longest} characters`;
  return NAME.test(name) ? null : 'must be lower-case letters, digits, "-" and ".", such as my-name';
}
