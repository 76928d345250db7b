/** Errors of the API server and of the connection to it, and predicates for their kinds. */
export interface KubeApiErrorFields {
  /** HTTP status, or 0 if there was no response. */
  code: number;
  /** The server's reason (`NotFound`, `Conflict`, …), or `Timeout`, `Unreachable`. */
  reason: string;
  /** `verb plural namespace/name`. */
  call: string;
  causes?: string[];
}

export class KubeApiError extends Error {
  override readonly name = 'KubeApiError';
  readonly code: number;
  readonly reason: string;
  /** Reasons of the single causes, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];

  constructor(fields: KubeApiErrorFields, message: string, options?: ErrorOptions) {
    super(`${fields.call}: ${fields.code || 'no answer'} ${fields.reason}: ${message}`, options);
    this.code = fields.code;
    this.reason = fields.reason;
    this.causes = fields.causes ?? [];
  }
}

/** The reason for a response over the size limit. */
export const TOO_LARGE = 'TooLarge';

interface StatusBody {
  reason?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string; field?: string }[] };
}

/** The error of an unsuccessful response; `body` is a Status object, or text from a proxy. */
export function parseApiError(call: string, code: number, body: string): KubeApiError {
  let status: StatusBody = {};
  try {
    status = JSON.parse(body) as StatusBody;
  } catch {
    status = { message: body.slice(0, 300) };
  }
  const causes = status.details?.causes?.flatMap(({ reason }) => reason ?? []);
  const reason = status.reason || `HTTP${code}`;
  return new KubeApiError({ code, reason, call, causes }, status.message || 'no message');
}

const hasCode = (error: unknown, code: number) => error instanceof KubeApiError && error.code === code;
const hasReason = (error: unknown, reason: string) =>
  error instanceof KubeApiError && error.reason === reason;

export const isNotFound = (error: unknown) => hasCode(error, 404);
/** No API serves the path, as where a kind is not installed: that is text, not a Status about an object. */
export const isUnserved = (error: unknown) =>
  isNotFound(error) &&
  (hasReason(error, 'HTTP404') ||
    (error as KubeApiError).message.includes('could not find the requested resource'));
/** Someone else changed the object in between: reread and decide again. */
export const isConflict = (error: unknown) => hasCode(error, 409) && !hasReason(error, 'AlreadyExists');
export const isAlreadyExists = (error: unknown) => hasReason(error, 'AlreadyExists');
/** A resource version or a continue token that is too old. */
export const isGone = (error: unknown) => hasCode(error, 410);
/** A response over the size limit (`readText`). */
export const isTooLarge = (error: unknown) => hasReason(error, TOO_LARGE);
export const isForbidden = (error: unknown) => hasCode(error, 403);
export const isUnauthorized = (error: unknown) => hasCode(error, 401);
/** The object itself is refused (also a change of an immutable field). */
export const isInvalid = (error: unknown) => hasCode(error, 422);
/** Server-side apply names it in an internal error (500), as if a retry could help. */
export const isUnknownField = (error: unknown) =>
  hasCode(error, 500) && (error as KubeApiError).message.includes('field not declared in schema');
export const isNamespaceTerminating = (error: unknown) =>
  error instanceof KubeApiError && error.causes.includes('NamespaceTerminating');
