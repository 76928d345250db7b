/** Why a spec cannot be applied, or not completely. */
export interface Problem {
  reason: string;
  message: string;
  /** Its Deployment keeps the former spec: the API server refuses a change. */
  isFrozen?: boolean;
}

const ROUTE_REASONS = new Set([
  'HostConflict',
  'HostNotAllowed',
  'AnnotationNotAllowed',
  'TLSSecretNotAllowed',
  'NoIngressClass',
  'NoHTTPRoute',
  'NoGateway',
]);

/** A problem that only withholds the route: the pods are created anyway. */
export const isRouteProblem = ({ reason }: Problem): boolean => ROUTE_REASONS.has(reason);

/** A problem that blocks the whole spec; what is running stays unchanged. */
export const isBlocking = (problem: Problem): boolean => !isRouteProblem(problem);

/** The cluster lacks something, but the spec is valid: the object stays accepted. */
export const isRefusal = ({ reason }: Problem): boolean =>
  !['NoIngressClass', 'NoHTTPRoute', 'NoGateway'].includes(reason);

/**
 * Reasons that end without an edit of the spec: when another object is created, changed or gone, or a name resolves.
 * Flux and Argo CD apply objects together, so each of them occurs for a moment in a healthy roll-out.
 */
const PASSING_REASONS = new Set([
  'BaseNotFound',
  'BaseNotSupported',
  'TooManyAdapters',
  'ClaimNotFound',
  'SecretNotFound',
  'SecretKeyNotFound',
  'SecretInvalid',
  'SessionToken',
  'InvalidSigningSecret',
  'HostConflict',
  'IdConflict',
  'DuplicateKey',
  'TooManyEndpoints',
  'NotOwned',
  'Forbidden',
  'InvalidURL',
]);

/** Whether only an edit of the spec, or of the installation, ends it. */
export const isLasting = ({ reason }: Pick<Problem, 'reason'>): boolean => !PASSING_REASONS.has(reason);

export const joinMessages = (problems: readonly Problem[]): string =>
  problems.map(({ message }) => message).join('; ');
