/** Validates writes, and updates metadata, as in the API server. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Fields, KubeObject } from '../object.ts';
import { groupVersion, type ResourceType, typeKey } from './resource-type.ts';
import { badRequest, conflict, type ErrorType, fieldError, type StatusCause } from './status-error.ts';

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NAME = 253;
const NAME_HELP =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** Throws StatusError for an object of another kind, and 409 for another object or an older version of it. */
export function requirePlace(type: ResourceType, wanted: KubeObject, before: KubeObject | undefined): void {
  const { apiVersion = groupVersion(type), kind = type.kind, metadata } = wanted as Partial<KubeObject>;
  if (apiVersion !== groupVersion(type) || kind !== type.kind)
    throw badRequest(
      `the object provided is unrecognized: it must be a ${type.kind} of ${groupVersion(type)}`,
    );
  if (!before) return;
  const { uid, resourceVersion } = before.metadata;
  if (metadata?.uid && metadata.uid !== uid)
    throw conflict(`Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`);
  if (metadata?.resourceVersion && metadata.resourceVersion !== resourceVersion)
    throw conflict(
      `Operation cannot be fulfilled on ${typeKey(type)} "${before.metadata.name}": the object has been modified; please apply your changes to the latest version and try again`,
    );
}

/** Separates the status, written only through its subresource, from everything else. */
export function takePart(
  type: ResourceType,
  before: KubeObject | undefined,
  wanted: KubeObject,
  subresource: string | undefined,
): KubeObject {
  if (subresource === 'status') {
    const { managedFields } = wanted.metadata;
    return {
      ...before!,
      status: wanted.status,
      metadata: { ...before!.metadata, managedFields: managedFields! },
    };
  }
  if (!type.hasStatus || !before) return wanted;
  const { status: _, ...rest } = wanted;
  return before.status === undefined
    ? (rest as KubeObject)
    : { ...(rest as KubeObject), status: before.status };
}

/** The fields whose change increments the generation. */
export function contentOf({ metadata: _, status: __, ...rest }: KubeObject): Fields {
  return rest;
}

/** Whatever the writer and the time of the books. */
export function isSame(before: KubeObject, after: KubeObject): boolean {
  const plain = ({ metadata, ...rest }: KubeObject) => ({
    ...rest,
    metadata: {
      ...metadata,
      resourceVersion: undefined,
      managedFields: metadata.managedFields?.map(({ time: _, ...entry }) => entry),
    },
  });
  return isDeepStrictEqual(
    JSON.parse(JSON.stringify(plain(before))),
    JSON.parse(JSON.stringify(plain(after))),
  );
}

export function validateName(name: unknown): StatusCause[] {
  const refuse = (type: ErrorType, ...detail: [text: string, value?: string]) => [
    fieldError(type, 'metadata.name', ...detail),
  ];
  if (typeof name !== 'string' || name === '')
    return refuse('FieldValueRequired', 'name or generateName is required');
  if (name.length > MAX_NAME)
    return refuse('FieldValueInvalid', `must be no more than ${MAX_NAME} characters`, name);
  return NAME.test(name) ? [] : refuse('FieldValueInvalid', NAME_HELP, name);
}

/** `stringData` is joined to `data`. */
export function completeSecret(type: ResourceType, object: KubeObject): KubeObject {
  if (typeKey(type) !== 'secrets') return object;
  const {
    stringData = {},
    data = {},
    type: kind = 'Opaque',
    ...rest
  } = object as KubeObject & {
    stringData?: Record<string, string>;
    data?: Record<string, string>;
  };
  const added = Object.entries(stringData).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ]);
  return { ...rest, type: kind, data: { ...data, ...Object.fromEntries(added) } };
}
