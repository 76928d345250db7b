/** Errors of the API server, and their translation into errors of the console. */
import { z } from 'zod';
import { ConsoleError, type ConsoleErrorCode } from '../http/error.ts';

const kubeStatus = z.object({
  message: z.string().catch(''),
  reason: z.string().optional().catch(undefined),
  details: z
    .object({
      causes: z.array(
        z.object({
          reason: z.string().optional(),
          field: z.string().optional(),
          message: z.string().optional(),
        }),
      ),
    })
    .optional()
    .catch(undefined),
});

/** `status` 0: no response. */
export class KubernetesError extends Error {
  readonly status: number;
  readonly reason: string;
  /** Reasons of the single causes, such as `DisruptionBudget`. */
  readonly causes: readonly string[];
  /** The invalid field, such as `spec.rpm`. */
  readonly field: string | null;
  /** The message about that field; '' if there is none. */
  readonly fieldMessage: string;

  constructor(status: number, body: unknown) {
    const { message, reason, details } = kubeStatus.catch({ message: '' }).parse(body);
    super(message || `The API server returned HTTP ${status}.`);
    this.status = status;
    this.reason = reason ?? '';
    this.causes = details?.causes.flatMap((cause) => cause.reason ?? []) ?? [];
    const cause = details?.causes[0];
    // Errors of the whole object have the field "<nil>".
    this.field = cause?.field?.startsWith('<') ? null : (cause?.field ?? null);
    this.fieldMessage = cause?.message ?? '';
  }
}

const BY_STATUS: Record<number, ConsoleErrorCode> = {
  400: 'invalid_request_error',
  403: 'permission_denied',
  404: 'not_found',
  409: 'conflict',
  422: 'refused',
  429: 'rate_limit_exceeded',
};

/** The message without the object and the value, which the user already sees; '' if it is not about a field. */
const describeField = ({ field, fieldMessage }: KubernetesError): string =>
  field === null
    ? ''
    : fieldMessage.replace(/^Invalid value: ("(\\.|[^"\\])*"|[^:]*): /, '').replace(`${field} in body `, '');

/** 401 is handled elsewhere: it ends the session. */
export function translateKubernetesError(error: KubernetesError): ConsoleError {
  const { status, message, field } = error;
  const code = BY_STATUS[status];
  if (error.reason === 'AlreadyExists')
    return new ConsoleError('conflict', 'name: is already in use; choose another one', { param: 'name' });
  if (code) {
    const param = field?.replace(/^(spec|metadata)\./, '') ?? null;
    const text = describeField(error);
    return new ConsoleError(code, text ? `${param}: ${text}` : message, { param });
  }
  const text = status === 0 ? 'did not respond' : `failed (${status}): ${message.replace(/\.$/, '')}`;
  return new ConsoleError('temporarily_unavailable', `The Kubernetes API server ${text}.`, {
    retryAfter: 5,
  });
}
