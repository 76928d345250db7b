/** Errors of the API server, as Status objects. */
export interface StatusCause {
  reason?: string;
  field: string;
  message: string;
}

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];

  constructor(code: number, reason: string, message: string, causes: readonly StatusCause[] = []) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.causes = causes;
  }

  toStatus(): object {
    const { code, reason, message, causes } = this;
    const details = causes.length === 0 ? {} : { details: { causes } };
    return { ...STATUS, status: 'Failure', message, reason, ...details, code };
  }
}

const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {} };
export const SUCCESS = { ...STATUS, status: 'Success' };

export const badRequest = (message: string) => new StatusError(400, 'BadRequest', message);
export const conflict = (message: string) => new StatusError(409, 'Conflict', message);
export const gone = (message: string) => new StatusError(410, 'Expired', message);
export const notFound = (resource: string, name: string) =>
  new StatusError(404, 'NotFound', `${resource} "${name}" not found`);
export const noSuchPath = () =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource');

/** In the API server's format: `APIKey.berth.dev "x" is invalid: spec.rpm: …`. */
export function invalid(subject: string, causes: readonly StatusCause[]): StatusError {
  const text = causes.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join(', ');
  return new StatusError(422, 'Invalid', `${subject} is invalid: ${text}`, causes);
}
