/** One call to the API server, and how it reads in a URL and in an error. */
import { type Resource, type ResourceLocation, resourcePath } from './resource.ts';

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface Call extends CallOptions {
  verb: string;
  resource: Resource;
  at: ResourceLocation;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean | undefined>;
  contentType?: string;
  /** In place of `application/json`. */
  accept?: string;
  body?: unknown;
}

/** Path and query of a call. */
export function formatTarget({ resource, at, query = {} }: Call): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  return resourcePath(resource, at) + (parameters.size > 0 ? `?${parameters}` : '');
}

/** `verb plural namespace/name` */
export const describeCall = ({ verb, resource, at }: Call) =>
  [
    verb,
    [resource.plural, at.subresource].filter(Boolean).join('/'),
    [at.namespace, at.name].filter(Boolean).join('/'),
  ]
    .filter(Boolean)
    .join(' ');
