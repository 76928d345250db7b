/** Errors of the API server, as Status objects. */
export interface StatusCause {
  reason?: string;
  field: string;
  message: string;
}

interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  causes: readonly StatusCause[];
}

const TITLES = {
  FieldValueInvalid: 'Invalid value',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueRequired: 'Required value',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
};
export type ErrorType = keyof typeof TITLES;

/** `field`: empty for the whole object. `value`: undefined for one that is not shown. */
export function fieldError(type: ErrorType, field: string, detail: string, value?: unknown): StatusCause {
  const parts = [
    TITLES[type],
    ...(value === undefined ? [] : [JSON.stringify(value)]),
    ...(detail ? [detail] : []),
  ];
  return { reason: type, field: field || '<nil>', message: parts.join(': ') };
}

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): object {
    const { code, reason, message, details } = this;
    return { ...STATUS, status: 'Failure', message, reason, ...(details && { details }), code };
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
export function invalid(
  { group, kind }: { group: string; kind: string },
  name: string,
  causes: readonly StatusCause[],
): StatusError {
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const text = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const subject = `${group === '' ? kind : `${kind}.${group}`} ${JSON.stringify(name)}`;
  return new StatusError(422, 'Invalid', `${subject} is invalid: ${text}`, { name, group, kind, causes });
}
