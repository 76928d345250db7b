/** Paths of the API server. Pure. */
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { KubernetesError } from './error.ts';

/** A resource of Berth, of the core group, a role binding, or a revision. */
export interface ObjectPlace {
  plural: string;
  namespace: string;
}

export interface Selection {
  labelSelector?: string;
  fieldSelector?: string;
}

const CORE = ['secrets', 'pods', 'events'];
const OTHERS: Readonly<Record<string, string>> = {
  rolebindings: '/apis/rbac.authorization.k8s.io/v1',
  controllerrevisions: '/apis/apps/v1',
};
const encode = encodeURIComponent;

export function collectionPath({ plural, namespace }: ObjectPlace): string {
  return `${findRoot(plural)}/namespaces/${encode(namespace)}/${encode(plural)}`;
}

function findRoot(plural: string): string {
  if (CORE.includes(plural)) return '/api/v1';
  return OTHERS[plural] ?? `/apis/${API_VERSION}`;
}

/** Names that could change the path, such as `..`, are treated as not found. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Throws KubernetesError 404. */
export function objectPath(place: ObjectPlace, name: string): string {
  if (!NAME.test(name)) throw new KubernetesError(404, { message: `${place.plural} "${name}" not found` });
  return `${collectionPath(place)}/${encode(name)}`;
}
