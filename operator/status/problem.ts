/** Why a spec cannot be applied, or not completely. */
export interface Problem {
  reason: string;
  message: string;
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

/** A problem that withholds the route only: the pods are made all the same. */
export const isRouteProblem = ({ reason }: Problem): boolean => ROUTE_REASONS.has(reason);

/** A problem that keeps the whole spec from being applied; what is running stays as it is. */
export const isBlocking = (problem: Problem): boolean => !isRouteProblem(problem);

/** The cluster lacks something, the spec is right: it does not make the object unaccepted. */
export const isRefusal = ({ reason }: Problem): boolean =>
  !['NoIngressClass', 'NoHTTPRoute', 'NoGateway'].includes(reason);

export const joinMessages = (problems: readonly Problem[]): string =>
  problems.map(({ message }) => message).join('; ');
