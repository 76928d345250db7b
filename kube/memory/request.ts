/** Parses requests of Kubernetes' API: the path, and the body in any format. */

import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { BodyTooLargeError, readBody } from '../../kit/bounded-body.ts';
import { isObject } from '../../kit/json.ts';
import type { MemoryApi } from './memory-api.ts';
import { groupVersion, typeKey } from './resource-type.ts';
import { badRequest, StatusError } from './status-error.ts';

export interface ResourceRequest {
  /** Key of the resource. */
  key: string;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
}

const PATH =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]))?\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/;

/** undefined: no resource has that path. */
export function readResourcePath({ types }: MemoryApi, path: string): ResourceRequest | undefined {
  const match = PATH.exec(path);
  if (!match) return undefined;
  const [, group = '', version = '', inNamespace, plural, ...rest] = match.map(
    (part) => part && decodeURIComponent(part),
  );
  let [name, subresource] = rest;
  let namespace = inNamespace;
  let wanted = plural;
  // `/api/v1/namespaces/x` and its status, which look like resources in a namespace.
  if (
    group === '' &&
    namespace !== undefined &&
    ['status', 'finalize'].includes(plural!) &&
    name === undefined
  ) {
    [wanted, name, subresource] = ['namespaces', namespace, plural];
    namespace = undefined;
  }
  const type = types.find(
    (type) => type.plural === wanted && groupVersion(type) === (group ? `${group}/${version}` : version),
  );
  return type && { key: typeKey(type), namespace, name, subresource };
}

const MAX_BYTES = 3 * 1024 * 1024;

/** An object or a list, of JSON or YAML. Throws StatusError 400, 413. */
export async function readObjectBody(req: IncomingMessage): Promise<unknown> {
  if (req.headers['content-type']?.includes('protobuf'))
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      'this server takes JSON and YAML: pipe "kubectl create … --dry-run=client -o yaml" into "kubectl apply -f -"',
    );
  const bytes = await readBody(req, MAX_BYTES).catch((error) => {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new StatusError(413, 'RequestEntityTooLarge', 'the body is too large');
  });
  const text = bytes.toString();
  if (text === '') return undefined;
  const isYAML = req.headers['content-type']?.includes('yaml') && !text.startsWith('{');
  try {
    const value: unknown = isYAML ? parse(text) : JSON.parse(text);
    if (isObject(value) || Array.isArray(value)) return value;
  } catch {}
  throw badRequest('the body must be a JSON object');
}

export interface Format {
  kind: 'object' | 'table' | 'metadata';
}

/** The form that a client wants: `application/json;as=Table;…` or plain. */
export function readFormat(accept = ''): Format['kind'] {
  for (const part of accept.split(',')) {
    if (/\bas=Table\b/.test(part)) return 'table';
    if (/\bas=PartialObjectMetadata(List)?\b/.test(part)) return 'metadata';
    if (/^\s*(application\/json|\*\/\*|application\/\*)\s*(;q=[\d.]+)?$/.test(part)) return 'object';
  }
  return 'object';
}
