/** What the API server refuses, as the Status objects that Kubernetes' clients read. */
import type { z } from 'zod';

export interface StatusCause {
  field: string;
  message: string;
}

export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: StatusCause[];

  constructor(code: number, reason: string, message: string, causes: StatusCause[] = []) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.causes = causes;
  }

  toStatus(): object {
    const { code, reason, message, causes } = this;
    const details = causes.length === 0 ? {} : { details: { causes } };
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      code,
      ...details,
    };
  }
}

export const refuseName = (plural: string, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${plural} "${name}" not found`);

/** In the API server's words: `APIKey.berth.dev "x" is invalid: spec.rpm: …`. */
export function refuseFields(subject: string, issues: readonly z.core.$ZodIssue[]): StatusError {
  const causes = issues.map(({ path, message }) => ({ field: path.join('.'), message }));
  const words = causes.map(({ field, message }) => `${field}: ${message}`).join(', ');
  return new StatusError(422, 'Invalid', `${subject} is invalid: ${words}`, causes);
}
