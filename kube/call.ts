/** One call to the API server: its URL, its description in errors, and its deadline. */

import { KubeApiError } from './api-error.ts';
import { type Resource, type ResourceLocation, resourcePath } from './resource.ts';

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** What a list or a watch selects. */
export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends Selection, CallOptions {
  limit?: number;
  continue?: string;
}

export interface ListPage<T> {
  items: T[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

export interface WatchOptions extends Selection {
  resourceVersion: string;
  timeoutSeconds: number;
  signal: AbortSignal;
}

export interface ObjectName {
  name: string;
  namespace?: string;
  subresource?: string;
}

export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  /** Take fields from other managers instead of failing with a conflict. */
  force?: boolean;
  subresource?: string;
}

export interface DeleteOptions extends CallOptions {
  /** Only this object, not one recreated with its name. */
  uid?: string;
  /** A shorter one than the object has left replaces it; its own by default. */
  graceSeconds?: number;
  propagation?: 'Background' | 'Foreground' | 'Orphan';
}

export interface Call extends CallOptions {
  verb: string;
  resource: Resource;
  at: ResourceLocation;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean | undefined>;
  contentType?: string;
  /** Instead of `application/json`. */
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

/** Together with the caller's own signal. */
export interface Deadline {
  signal: AbortSignal;
  /** Removes the deadline; the caller's own signal still counts. */
  stopClock(): void;
  end(): void;
  /** What to throw for an error of the transport. */
  explain(error: unknown, call: string): Error;
}

/** A plain `AbortSignal.any` would stay with a caller's long-lived signal until that one ends. */
export function startDeadline(timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let late = false;
  const abort = () => controller.abort(parent?.reason);
  const timer = setTimeout(() => {
    late = true;
    controller.abort();
  }, timeoutMs);
  if (parent?.aborted) abort();
  parent?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', abort);
    },
    explain(cause, call) {
      const reason = late ? 'Timeout' : parent?.aborted ? 'Aborted' : 'Unreachable';
      const message = late ? `no response within ${timeoutMs} ms` : describeCause(cause);
      return new KubeApiError({ code: 0, reason, call }, message, { cause });
    },
  };
}

function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A failed connection to several addresses has an empty message and the code only.
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
