/** Reads the paths of the small part of Kubernetes' API that the local server has. Pure. */
import { API_VERSION } from '../../contract/kubernetes-types.ts';
import { RESOURCES } from './resources.ts';

export type Route =
  | { what: 'objects'; plural: string; namespace: string; name: string | null }
  | { what: 'namespaces'; name: string | null }
  | { what: 'user' }
  | { what: 'access' }
  | { what: 'ready' };

const REVIEWS: Record<string, Route> = {
  '/apis/authentication.k8s.io/v1/selfsubjectreviews': { what: 'user' },
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': { what: 'access' },
  '/readyz': { what: 'ready' },
};

/** null for what is not served here. */
export function readRoute(path: string): Route | null {
  const known = REVIEWS[path];
  if (known) return known;
  const [, root, rest] = /^\/(api\/v1|apis\/berth\.dev\/v1alpha1)\/namespaces(?:\/(.*))?$/.exec(path) ?? [];
  if (!root) return null;
  const parts = rest ? rest.split('/').map(decodePart) : [];
  const isCore = root !== `apis/${API_VERSION}`;
  if (parts.length < 2) return isCore ? { what: 'namespaces', name: parts[0] ?? null } : null;
  const [namespace, plural, name = null, ...more] = parts as [string, string, ...string[]];
  if (!Object.hasOwn(RESOURCES, plural) || (plural === 'secrets') !== isCore || more.length > 0) return null;
  return { what: 'objects', plural, namespace, name };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
